"""Resolve the settings of an agent, field by field: persona, task's `config`, defaults."""

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from coterie.dsl.model.plan import Persona
from coterie.dsl.model.sections.provider_document import LlmConfig
from coterie.dsl.source.nodes import Node, overlaid
from coterie.dsl.values import NodePath
from coterie.explaining.origins import CALL, DEFAULT, Origin, from_node

_PERSONAS: NodePath = ("llm_config", "personas")
_MEANS_NOTHING: tuple[JsonValue, ...] = (None, {}, [])
_OF_TOOLS = ("max_turns", "tool_choice", "tool_calls", "parallel_tool_calls")
"""Fields whose defaults count only for an agent that is offered a tool or a handoff."""


@dataclass(frozen=True, slots=True)
class AgentSources:
    """The sources of one agent's fields."""

    tree: Node
    """The whole document."""
    llm: LlmConfig
    persona_key: str
    config: Node | None
    """The task's overrides of the persona."""
    model: str | None
    """The model that the command line sets for all personas."""

    @property
    def merged(self) -> Node:
        """The persona with the task's config merged over it; every leaf keeps its place."""
        persona = self.tree.find((*_PERSONAS, self.persona_key))
        return persona if self.config is None else overlaid(persona, self.config)

    def fields(
        self, persona: Persona, *, asks_a_model: bool
    ) -> Iterator[tuple[NodePath, JsonValue, Origin]]:
        """Yield each effective field of the persona, leaf by leaf, with its origin.

        Omit the execution plan, whose steps have fields of their own. Defaults count only if the
        agent calls a model, and those of tools only if it is offered some.
        """
        unused = () if persona.tools or persona.handoffs else _OF_TOOLS
        merged = self.merged
        values = persona.model_dump(mode="json", by_alias=True, exclude={"execution_plan"})
        for key, value in values.items():
            if key in ("provider", "model") and not value:  # whatever is written has no effect
                continue
            chosen = self._origin_of_choice(key, persona) if asks_a_model else None
            node = merged.child(key)
            if chosen is not None:
                yield (key,), value, chosen
            elif node is not None and node.value is not None:
                yield from self._leaves((key,), value, node)
            elif asks_a_model and value not in _MEANS_NOTHING and key not in unused:
                yield (key,), value, DEFAULT

    def _origin_of_choice(self, key: str, persona: Persona) -> Origin | None:
        """Return the origin of provider or model, unless it is the persona; else None."""
        if key != "provider" and key != "model":  # narrows the type
            return None
        chosen = self.llm.defaults.choose(self._own("provider"), self._own("model"), self.model)
        path = chosen.default_path(key)
        if path is None:
            return None if self.model is None else CALL
        node = self.tree.find(path)
        if node is self.tree.find(path[:-1]):
            return DEFAULT
        return from_node(node, ".".join(map(str, path)))

    def _own(self, key: str) -> str | None:
        """Return the persona's setting, overridden by the task's."""
        node = self.merged.child(key)
        return node.value if node is not None and isinstance(node.value, str) else None

    def _leaves(
        self, path: NodePath, value: JsonValue, node: Node
    ) -> Iterator[tuple[NodePath, JsonValue, Origin]]:
        if isinstance(value, dict) and value and node.entries():
            for key, item in value.items():
                yield from self._leaves((*path, key), item, node.find((key,)))
        else:
            yield path, value, from_node(node, self._said_by(path))

    def _said_by(self, path: NodePath) -> str:
        by_task = self.config is not None and self.config.has(path)
        return "the task's config" if by_task else f"persona {self.persona_key}"
