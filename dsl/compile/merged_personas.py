"""Personas of agent steps: the persona with the task's `config` merged in, and where each key is.

The `config` is deep-merged onto the persona; neither is changed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from dsl.compile.persona_models import PersonaModels
from dsl.model.merge import deep_merge
from dsl.model.plan import Persona
from dsl.model.sections.provider_document import LlmConfig
from dsl.model.step_kinds.agent_types import offered_tools
from dsl.model.steps import (
    AgentStep,
    PersonaDocument,
)
from dsl.source.nodes import Node, Problems
from dsl.source.unknown_names import unknown
from dsl.values import Json, JsonValue, NodePath

PERSONAS: NodePath = ("llm_config", "personas")


@dataclass(frozen=True, slots=True)
class MergedPersona:
    """The persona of one agent step, and where it is written."""

    persona: Persona
    key: str
    named_at: NodePath
    """The path of its name in the step."""
    config: NodePath | None
    """The path of the step's `config`, if it has one."""
    tree: Node

    def written_at(self, *keys: str) -> NodePath:
        """Return where a field is written: in the step's `config`, or else in the persona."""
        own = (*PERSONAS, self.key, *keys)
        if self.config is None:
            return own
        written = (*self.config, *keys)
        return written if self.tree.has(written) else own


@dataclass(frozen=True, slots=True)
class PersonaMerger:
    """Merges the personas of agent steps with their `config`."""

    llm: LlmConfig
    tree: Node
    problems: Problems
    models: PersonaModels
    groups: Mapping[str, Sequence[str]]
    """`{group of tools: its members}`."""

    def merged(self, step: AgentStep, path: NodePath, named_at: NodePath) -> MergedPersona | None:
        """Return the persona of a step with its model; None, and a problem, if it has none.

        Args:
            step: names one persona.
            path: where the step is written.
            named_at: where it names the persona.
        """
        key = step.persona_key
        if key is None:
            return None
        written = self.llm.personas.get(key)
        if written is None:
            self._note_unknown(key, named_at)
            return None
        merged = plain_persona(written)
        if step.config is not None:
            merged = deep_merge(merged, plain_persona(step.config))
        origins = ((*path, "config"), (*PERSONAS, key))
        offered = with_offered_tools(without_nulls(merged), self.groups)
        persona = self.models.complete(offered, origins, key)
        if persona is None:
            return None
        config = (*path, "config") if step.config is not None else None
        return MergedPersona(persona, key, named_at, config, self.tree)

    def _note_unknown(self, key: str, path: NodePath) -> None:
        section = self.tree.get(PERSONAS)
        known = {} if section is None else section.entries()
        if key not in known:  # a persona with problems of its own is known, too
            unknown(self.problems, self.tree.find(path).mark, path, "E202", "persona", key, known)


def without_nulls(persona: Json) -> Json:
    """Drop nulls at the top and among the prompts: null deletes a key."""
    kept: Json = {key: value for key, value in persona.items() if value is not None}
    prompts = kept.get("prompts")
    if isinstance(prompts, dict):
        kept["prompts"] = {key: text for key, text in prompts.items() if text is not None}
    return kept


def plain_persona(persona: PersonaDocument) -> Json:
    """Return the fields that configure the agent; its budgets belong to the run."""
    plain = persona.model_dump(mode="json", exclude_unset=True, by_alias=True, exclude={"budgets"})
    return cast("Json", plain)


_LISTS = ("tools", "subagents", "exclude_tools")


def with_offered_tools(merged: Json, groups: Mapping[str, Sequence[str]]) -> Json:
    """Return a merged persona whose `tools` are all that it offers, in written order.

    `subagents` are tools of the same names, and a group stands for its members; neither they nor
    `exclude_tools` are left.

    Args:
        merged: The persona.
        groups: `{group of tools: its members}`.
    """
    if not any(key in merged for key in _LISTS):
        return merged
    tools, subagents, excluded = (_names(merged.get(key), groups) for key in _LISTS)
    offered = dict.fromkeys(offered_tools(tools, subagents, excluded))
    rest = {key: value for key, value in merged.items() if key not in _LISTS}
    names: list[JsonValue] = list(offered)
    return {**rest, "tools": names} if names else rest


def _names(value: JsonValue, groups: Mapping[str, Sequence[str]]) -> list[str]:
    written = cast("list[str]", value) if isinstance(value, list) else []
    return [one for name in written for one in groups.get(name) or (name,)]
