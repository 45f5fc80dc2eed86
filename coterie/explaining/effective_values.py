"""Find every effective value of a document with its origin.

Traverse the typed document, its merged tree and its plan in parallel: a value in the tree has a
file and a line, any other is a default. The resolved settings of an agent (persona, the task's
`config`, defaults) appear below its task as `agent`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from pydantic import BaseModel, JsonValue
from pydantic_core import to_jsonable_python

from coterie.documents.product_capabilities import BUILT_IN_PROVIDERS
from coterie.dsl.compile.compiler import Compiled
from coterie.dsl.compile.shapes import parse_document
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.model.capabilities import FunctionContract
from coterie.dsl.model.decision_terms import DecisionTerms
from coterie.dsl.model.document import SystemDocument, TeamDocument
from coterie.dsl.model.plan import Persona, Team
from coterie.dsl.model.sections.provider_document import LlmConfig
from coterie.dsl.model.step_kinds.agent_types import ORCHESTRATING
from coterie.dsl.model.step_kinds.step_base import StepBase
from coterie.dsl.model.steps import FunctionStep, PersonaDocument, PersonaStep
from coterie.dsl.model.template_bound import BoundTemplate, TemplateBound, TemplateDuration
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, overlaid
from coterie.dsl.templates.template import plain_path
from coterie.dsl.values import Json, NodePath, Segment
from coterie.explaining.origins import BUILT_IN, CALL, DEFAULT, Effective, Origin, from_node

_PERSONAS: NodePath = ("llm_config", "personas")
_MEANS_NOTHING: tuple[JsonValue, ...] = (None, {}, [])
_OF_TOOLS = (
    *("max_turns", "tool_choice", "tool_calls", "tool_search", "parallel_tool_calls"),
    "code_mode",
)
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

        Omit the execution plan, whose steps have fields of their own, and the list of skills.
        Defaults count only if the agent calls a model, and those of tools only if it has some.
        """
        unused_keys = () if persona.tools or persona.handoffs else _OF_TOOLS
        merged_node = self.merged
        left_out = {"execution_plan", "skill_list", "deferred_tools"}
        values = persona.model_dump(mode="json", by_alias=True, exclude=left_out)
        for key, value in values.items():
            if key in ("provider", "model") and not value:  # whatever is written has no effect
                continue
            origin = self._origin_of_choice(key, persona) if asks_a_model else None
            node = merged_node.child(key)
            if origin is not None:
                yield (key,), value, origin
            elif node is not None and node.value is not None:
                yield from self._leaves((key,), value, node)
            elif asks_a_model and value not in _MEANS_NOTHING and key not in unused_keys:
                yield (key,), value, DEFAULT

    def _origin_of_choice(self, key: str, persona: Persona) -> Origin | None:
        """Return the origin of provider or model, unless it is the persona; else None."""
        if key != "provider" and key != "model":  # narrows the type
            return None
        choice = self.llm.defaults.choose(self._own("provider"), self._own("model"), self.model)
        path = choice.default_path(key)
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


@dataclass(frozen=True, slots=True)
class DocumentPosition:
    """A position in the document, with its counterpart in the plan."""

    node: Node
    path: NodePath = ()
    step: str = ""
    """The team or step, as the trail names it."""
    compiled: object = None
    """The part of the plan compiled from it, or None."""
    field: str = ""
    """The field of the language, if any: `Retry.retries`."""

    def child(
        self, key: Segment, node: Node, *, shown: Segment | None = None, field: str = ""
    ) -> "DocumentPosition":
        """Return a position below; a document's tasks are a plan's steps."""
        name = "steps" if isinstance(self.compiled, Team) and key == "tasks" else key
        path = (*self.path, key if shown is None else shown)
        return DocumentPosition(node, path, self.step, _part(self.compiled, name), field)

    def value(self, value: JsonValue, origin: Origin) -> Effective:
        """Return a value at this position."""
        return Effective(self.path, value, origin, self.step, self.field)

    def below(self, value: JsonValue, origin: Origin, path: NodePath, owner: str) -> Effective:
        """Return an effective value below that the document does not write there."""
        field = f"{owner}.{path[-1]}" if owner else ""
        return Effective((*self.path, *path), value, origin, self.step, field)


def _part(whole: object, key: Segment) -> object:
    """Return the part of a plan below a key or index; None if there is none."""
    match whole, key:
        case dict(), str():
            return cast("dict[str, object]", whole).get(key)
        case tuple(), int():
            items = cast("tuple[object, ...]", whole)
            return items[key] if key < len(items) else None
        case BaseModel(), str():
            fields = type(whole).model_fields
            name = next((name for name, info in fields.items() if info.alias == key), key)
            return getattr(whole, name, None)
        case _:
            return None


def holds_models(values: Iterable[object]) -> bool:
    """Return whether a value is a model, or a tuple that begins with one."""
    for value in values:
        items = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
        if items and isinstance(items[0], BaseModel):
            return True
    return False


def location_of(step: str, key: str, item: object) -> str:
    """Return the location of a team, or of a branch of a parallel step, as the trail names it."""
    if isinstance(item, TeamDocument):
        return key
    return f"{step}/{key}" if isinstance(item, tuple) and step else step


_Mapping = dict[str, object]
_EMPTY: tuple[object, ...] = (None, (), {}, "")


def explained(
    compiled: Compiled, functions: Mapping[str, FunctionContract], model: str | None = None
) -> tuple[Effective, ...]:
    """Return every effective value, in document order.

    Args:
        compiled: The document.
        functions: Contracts of the tool functions that it may name.
        model: The model that the command line sets for all personas.
    """
    problems = Problems()
    document, tree = parse_document(compiled.tree, problems)
    if document is None:
        raise InvalidDocument(problems.errors)
    return tuple(_Explainer(compiled, document, tree, functions, model).values())


class _Explainer:
    """Traverses one document."""

    def __init__(
        self,
        compiled: Compiled,
        document: SystemDocument,
        tree: Node,
        functions: Mapping[str, FunctionContract],
        model: str | None,
    ) -> None:
        self.plan = compiled.plan
        self.document = document
        self.tree = tree
        self.functions = functions
        self.model = model

    def values(self) -> Iterator[Effective]:
        """Yield all values."""
        plan = {
            "orchestration": {"teams": self.plan.teams},
            "llm_config": {"personas": self.plan.personas},
        }
        yield from self._model(self.document, DocumentPosition(self.tree, compiled=plan))

    def _model(self, model: BaseModel, here: DocumentPosition) -> Iterator[Effective]:
        """Yield the fields of a model, and the effective values that they imply."""
        for name, info in type(model).model_fields.items():
            key = info.alias or name
            value: object = getattr(model, name)
            node = here.node.child(key)
            if key == "terms":
                continue
            label, field = _shown_key(key), _field(model, name)
            below = here.child(key, node or Node({}, here.node.mark), shown=label, field=field)
            if node is not None or isinstance(value, BaseModel):
                yield from self._value(value, below)
            elif value not in _EMPTY or _absence_counts(model, name):
                yield below.value(_plain(value), DEFAULT)
        yield from self._beyond(model, here)

    def _value(self, value: object, here: DocumentPosition) -> Iterator[Effective]:
        match value:
            case BaseModel():
                yield from self._model(value, here)
            case dict() if here.node.entries() and holds_models(cast("_Mapping", value).values()):
                for key, item in cast("_Mapping", value).items():
                    below = here.child(key, here.node.find((key,)))
                    yield from self._value(
                        item, replace(below, step=location_of(here.step, key, item))
                    )
            case tuple() if holds_models((cast("object", value),)):
                yield from self._items(cast("Sequence[BaseModel]", value), here)
            case str() if isinstance(here.compiled, TemplateBound | TemplateDuration):
                yield from self._bound_values(value, here.compiled, here)
            case _:
                yield from _leaves(_plain(value), here)

    def _bound_values(
        self, text: str, bound: BoundTemplate, here: DocumentPosition
    ) -> Iterator[Effective]:
        """Yield the template of a context path, and the maximum that its declaration gives."""
        yield here.value(text, from_node(here.node))
        name = ".".join((plain_path(text) or ())[1:])
        node = self.tree.find(("orchestration", "context", name, "maximum"))
        origin = from_node(node, f"context.{name}")
        yield here.below(bound.maximum, origin, ("maximum",), type(bound).__name__)

    def _items(self, items: Sequence[BaseModel], here: DocumentPosition) -> Iterator[Effective]:
        """Yield the values of a list: steps by name, rules by index."""
        compiled = here.compiled
        # an aggregating step that the compiler inserted has no document
        if isinstance(compiled, tuple):
            values = cast("tuple[object, ...]", compiled)
            here = replace(here, compiled=values[len(values) - len(items) :])
        for index, (item, node) in enumerate(zip(items, here.node.items(), strict=True)):
            if isinstance(item, StepBase):
                below = here.child(index, node, shown=item.name)
                step = f"{here.step}/{item.name}" if here.step else ""
                yield from self._model(item, replace(below, step=step))
            else:
                yield from self._model(item, here.child(index, node))

    def _beyond(self, model: BaseModel, here: DocumentPosition) -> Iterator[Effective]:
        """Yield effective values that are written elsewhere."""
        match model:
            case TeamDocument(max_recursion_depth=None, max_visits=None):
                yield self._common_depth(here)
            case LlmConfig(providers=providers):
                for name, section in BUILT_IN_PROVIDERS.items():
                    if name not in providers:
                        values = section.model_dump(exclude_defaults=True)
                        for key, value in values.items():
                            yield here.below(value, BUILT_IN, ("providers", name, key), "")
            case FunctionStep():
                yield from self._contract(model, here)
            case PersonaStep():
                yield from self._agent(model, here)
            case _:
                return

    def _common_depth(self, here: DocumentPosition) -> Effective:
        """Return the limit of a team without one of its own."""
        key = "max_recursion_depth"
        node = self.tree.get(("orchestration", key))
        origin = DEFAULT if node is None else from_node(node, f"orchestration.{key}")
        return here.below(self.plan.limits.max_recursion_depth, origin, (key,), "TeamDocument")

    def _contract(self, step: FunctionStep, here: DocumentPosition) -> Iterator[Effective]:
        contract = self.functions.get(step.skill)
        if contract is None:
            return
        origin = Origin("contract", via=f"contract of {step.skill}")
        values: Json = {"effect": contract.effect, "retries": contract.retries}
        if step.timeout is None:
            values["timeout"] = contract.timeout
        for key, value in values.items():
            yield here.below(value, origin, ("contract", key), "FunctionContract")

    def _agent(self, step: PersonaStep, here: DocumentPosition) -> Iterator[Effective]:
        """Yield the persona as the task's agent gets it."""
        compiled = here.compiled
        if not isinstance(compiled, PersonaStep):
            return  # a persona's plan that no task uses unchanged
        for choice in compiled.choices:
            agent = ("agent", choice.persona_name) if step.personas else ("agent",)
            yield from self._persona(choice, step, here, agent)

    def _persona(
        self, compiled: PersonaStep, step: PersonaStep, here: DocumentPosition, agent: NodePath
    ) -> Iterator[Effective]:
        """Yield one persona of a task; several, which a template chooses from, by their names."""
        persona = self.plan.personas[compiled.persona_key]
        config = here.node.child("config")
        key = compiled.persona_name
        sources = AgentSources(self.tree, self.document.llm_config, key, config, self.model)
        asks_a_model = step.agent_type != ORCHESTRATING
        for path, value, origin in sources.fields(persona, asks_a_model=asks_a_model):
            owner = "Persona" if asks_a_model and len(path) == 1 else ""
            yield here.below(value, origin, (*agent, *path), owner)
        plan = sources.merged.child("execution_plan")
        if plan is not None and persona.execution_plan is not None:
            document = PersonaDocument.model_validate_json(
                json.dumps({"execution_plan": plan.plain()}), strict=True
            )
            below = DocumentPosition(
                plan, (*here.path, *agent, "execution_plan"), here.step, persona.execution_plan
            )
            yield from self._items(document.execution_plan or (), below)


def _field(model: BaseModel, name: str) -> str:
    """Return the field name with the class that declares it."""
    common = isinstance(model, StepBase) and name in StepBase.model_fields
    return f"{'StepBase' if common else type(model).__name__}.{name}"


def _shown_key(key: str) -> str:
    return "type" if key == "kind" else key


def _absence_counts(model: BaseModel, name: str) -> bool:
    """Return whether a missing limit is meaningful: it means unlimited."""
    match model, name:
        case DecisionTerms(), "deadline":
            return True
        case StepBase(), _:
            return model.unlimited_without == name
        case _:
            return False


def _leaves(value: JsonValue, here: DocumentPosition) -> Iterator[Effective]:
    entries = here.node.entries()
    if isinstance(value, dict) and value and entries:
        for key, item in value.items():
            yield from _leaves(item, here.child(key, entries.get(key, here.node)))
    else:
        yield here.value(value, from_node(here.node))


def _plain(value: object) -> JsonValue:
    return cast("JsonValue", to_jsonable_python(value, by_alias=True))
