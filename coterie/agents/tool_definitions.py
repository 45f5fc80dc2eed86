"""Define tools in a program: a typed function, a subclass of BaseTool, or a ToolSchema.

    ToolSchema(
        name="multiplier",
        description="Multiply the factors of a product",
        executor=multiplied,
        input_schema={"expression": {"type": "string"}},
    )

All three become a ToolSchema, which holds what a caller relies on. Nothing is registered globally.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from inspect import getdoc, ismethod
from typing import Any, ClassVar, cast

from pydantic import JsonValue

from coterie.activities.user_code.child_messages import FoundTool
from coterie.activities.user_code.tool_functions import ToolTerms, terms_of
from coterie.activities.user_code.tool_schemas import TypedFunction, UnfitFunction, contract, typed
from coterie.activities.user_code.tool_term_checks import terms_problem
from coterie.agents.agent_arguments import OF_TOOLS, check_values
from coterie.dsl.checks.tools.tool_names import NAME_OF_A_TOOL
from coterie.dsl.json_schema.schema_checker import beyond
from coterie.dsl.json_schema.schema_problems import schema_problem
from coterie.dsl.model.capabilities import Effect, Label
from coterie.dsl.values import Json

Executor = Callable[..., object]

DEFAULT_TIMEOUT = 60.0
"""Seconds for one attempt."""


class InvalidTool(ValueError):
    """Something cannot be a tool; the message names it, and says what to write."""


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as its callers see it, and the function that does the work."""

    name: str
    """The name that a model calls."""
    executor: Executor
    """Sync or async. A sync function runs in a thread of its own."""
    description: str = ""
    """What the model reads. Default: the first paragraph of the executor's docstring."""
    input_schema: Mapping[str, JsonValue] | None = None
    """`{argument: JSON Schema}`, or the JSON Schema of an object. Default: from the executor's
    types."""
    timeout_seconds: float | None = None
    """For one attempt. Default: what `@tool` says, or 60."""
    max_retries: int | None = None
    """Additional attempts after a failure; none for the effect `once`. Default: what `@tool`
    says, or 0."""
    effect: Effect | None = None
    """What a repeated call does. Default: what `@tool` says; else `idempotent` with retries, and
    `once` without."""
    labels: tuple[Label, ...] = ()
    """`private`, `untrusted`, `egress`, besides those of `@tool`."""
    requires_approval: bool = False
    """Whether a person allows each call."""

    @property
    def arguments(self) -> Json | None:
        """The JSON Schema of the arguments as an object; None if the types say it."""
        return None if self.input_schema is None else _object_schema(self.input_schema)


class BaseTool(ABC):
    """A tool as a class: its attributes are the contract, `run` does the work.

    The types of `run` give the arguments and the result; `input_schema` may give the arguments.
    Instances of one class with equal attributes are one tool: agents of a run may each have one.
    """

    name: ClassVar[str] = ""
    """Default: the name of the class."""
    description: ClassVar[str] = ""
    """Default: the first paragraph of the docstring of the class."""
    input_schema: ClassVar[Mapping[str, JsonValue] | None] = None
    timeout_seconds: ClassVar[float] = DEFAULT_TIMEOUT
    max_retries: ClassVar[int] = 0
    effect: ClassVar[Effect | None] = None
    labels: ClassVar[tuple[Label, ...]] = ()
    requires_approval: ClassVar[bool] = False

    @abstractmethod
    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Do the work of one call; sync or async."""

    def schema(self) -> ToolSchema:
        """Return the tool's definition."""
        kind = type(self)
        return ToolSchema(
            name=self.name or kind.__name__,
            executor=self.run,
            description=self.description or _first_paragraph(kind) or _first_paragraph(self.run),
            input_schema=self.input_schema,
            timeout_seconds=self.timeout_seconds,
            max_retries=self.max_retries,
            effect=self.effect,
            labels=self.labels,
            requires_approval=self.requires_approval,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BaseTool) or type(self) is not type(other):
            return NotImplemented
        mine, theirs = _attributes(self), _attributes(other)
        return mine.keys() == theirs.keys() and all(
            _is_equal(value, theirs[key]) for key, value in mine.items()
        )

    def __hash__(self) -> int:
        return hash(type(self))


@dataclass(frozen=True, slots=True)
class ToolFunction:
    """A tool that is ready to be called: its contract, and how to call it."""

    schema: ToolSchema
    found: FoundTool
    """The contract; its name is the skill's, `module:function`."""
    typed: TypedFunction | None
    """None if the arguments are checked against a schema only."""


def schema_of(tool: "Executor | BaseTool | ToolSchema") -> ToolSchema:
    """Return the definition of a function, of an instance of BaseTool, or of a definition.

    Raises:
        InvalidTool: It is something else, or a class instead of an instance.
    """
    if isinstance(tool, ToolSchema):
        return tool
    if isinstance(tool, BaseTool):
        return tool.schema()
    if isinstance(tool, type):
        raise InvalidTool(f"{tool.__name__} is a class; pass an instance: {tool.__name__}()")
    if not callable(tool):
        raise InvalidTool(
            f"{tool!r} cannot be a tool; pass a function, a BaseTool, a ToolSchema, or the name "
            "of a skill or of a registered tool"
        )
    return ToolSchema(name=getattr(tool, "__name__", type(tool).__name__), executor=tool)


def is_same_tool(one: ToolSchema, other: ToolSchema) -> bool:
    """Return whether two definitions are one tool.

    Methods of equal instances of a BaseTool are the same function.
    """
    mine, theirs = one.executor, other.executor
    if ismethod(mine) and ismethod(theirs) and mine.__func__ is theirs.__func__:
        owner = mine.__self__
        if isinstance(owner, BaseTool) and owner == theirs.__self__:
            return replace(one, executor=theirs) == other
    return one == other


def ready_tool(schema: ToolSchema) -> ToolFunction:
    """Read the signature of a tool's function, and complete its contract.

    Raises:
        InvalidTool: The function or the schema cannot be a tool.
    """
    try:
        parts = {name: getattr(schema, name) for name in OF_TOOLS}
        check_values(f"the tool {schema.name!r}", parts, OF_TOOLS)
    except TypeError as error:
        raise InvalidTool(str(error)) from None
    if not NAME_OF_A_TOOL.fullmatch(schema.name):
        raise InvalidTool(
            f"a tool cannot be called {schema.name!r}; use letters, digits, `-` and `_`: "
            "ToolSchema(name=..., executor=...)"
        )
    terms = _terms(schema)
    problem = terms_problem(terms)
    if problem is not None:
        raise InvalidTool(f"the tool {schema.name!r} {problem}")
    path = path_of(schema.executor)
    arguments = schema.arguments
    if arguments is not None:
        _check_schema(schema.name, arguments)
        return ToolFunction(schema, _described_tool(schema, path, terms, arguments), None)
    try:
        function = typed(schema.executor)
    except UnfitFunction as error:
        raise InvalidTool(f"the tool {schema.name!r} {error}; or give its `input_schema`") from None
    return ToolFunction(schema, FoundTool.model_validate(contract(path, function, terms)), function)


def path_of(executor: Executor) -> str:
    """Return where a function is defined: `module:qualified name`."""
    name = getattr(executor, "__qualname__", type(executor).__qualname__)
    return f"{executor.__module__}:{name}"


def _described_tool(schema: ToolSchema, path: str, terms: ToolTerms, arguments: Json) -> FoundTool:
    return FoundTool.model_validate(
        {
            **asdict(terms),
            "name": path,
            "description": terms.description or _first_paragraph(schema.executor),
            "input_schema": arguments,
            "output_schema": {},
        }
    )


def _terms(schema: ToolSchema) -> ToolTerms:
    """Return what the definition says of its calls, over what `@tool` says."""
    marked = terms_of(schema.executor)
    retries = schema.max_retries
    if retries is None:
        retries = 0 if marked is None else marked.retries
    effect = schema.effect
    if effect is None:
        unmarked: Effect = "idempotent" if retries else "once"
        effect = unmarked if marked is None else marked.effect
    seconds = DEFAULT_TIMEOUT if marked is None else marked.timeout
    own: Any = () if marked is None else marked.labels
    labels: Any = schema.labels or own
    if isinstance(labels, list | tuple) and isinstance(own, list | tuple):
        labels = tuple(dict.fromkeys(cast("list[Any]", [*own, *labels])))
    return ToolTerms(
        description=schema.description or (None if marked is None else marked.description),
        effect=effect,
        timeout=seconds if schema.timeout_seconds is None else schema.timeout_seconds,
        retries=retries,
        labels=cast("tuple[str, ...]", labels),
        secrets=() if marked is None else marked.secrets,
    )


def _attributes(tool: BaseTool) -> dict[str, object]:
    """Return the attributes of an instance, also those in slots."""
    held: dict[str, object] = {}
    state: object = object.__getstate__(tool)  # a dict, or also one of the slots, or None
    for part in state if isinstance(state, tuple) else (state,):  # pyright: ignore[reportUnknownVariableType]
        held.update(cast("dict[str, object]", part or {}))
    return held


def _is_equal(one: object, other: object) -> bool:
    return one is other or (one == other) is True  # an array says neither


def _object_schema(given: Mapping[str, JsonValue]) -> Json:
    if given.get("type") == "object":
        return dict(given)
    required: list[JsonValue] = [
        name for name, one in given.items() if not (isinstance(one, dict) and "default" in one)
    ]
    return {
        "type": "object",
        "properties": dict(given),
        "required": required,
        "additionalProperties": False,
    }


def _check_schema(name: str, schema: Json) -> None:
    problem = schema_problem(schema) or beyond(schema)
    if problem is not None:
        raise InvalidTool(f"the input_schema of the tool {name!r} cannot be checked: {problem}")


def _first_paragraph(value: object) -> str:
    text = getdoc(value) if getattr(value, "__doc__", None) else None
    return " ".join((text or "").partition("\n\n")[0].split())
