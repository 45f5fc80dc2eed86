"""A program's own tools: a typed function, a subclass of BaseTool, or a ToolSchema.

    registry = ToolRegistry()
    registry.register(weather)                       # a function with @tool
    registry.register_simple(name="multiplier", executor=multiplied, input_schema=...)

All become a ToolSchema, which holds what a caller relies on. An agent names a registered tool by
its name: `tools=["multiplier"]`. Nothing is registered globally.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from inspect import getdoc, ismethod
from typing import Any, ClassVar, cast

from pydantic import JsonValue

from coterie.activities.user_code.child_messages import FoundTool
from coterie.activities.user_code.python_tools import ToolTerms, terms_of
from coterie.activities.user_code.tool_schemas import TypedFunction, UnfitFunction, contract, typed
from coterie.activities.user_code.tool_term_checks import terms_problem
from coterie.agents.agent_arguments import OF_TOOLS, check_values
from coterie.dsl.checks.tools.tool_names import NAME_OF_A_TOOL
from coterie.dsl.errors import listed, nearest
from coterie.dsl.json_schema.schema_problems import schema_problem
from coterie.dsl.model.capabilities import Effect, Label
from coterie.dsl.values import Json

Executor = Callable[..., object]


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
    timeout_seconds: ClassVar[float] = 60.0
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
class DefinedTool:
    """A tool that is ready to be called."""

    schema: ToolSchema
    contract: FoundTool
    """Its name is the tool function's, `module:function`."""
    typed: TypedFunction | None
    """None if the arguments are checked against a schema only."""


AnyTool = Executor | BaseTool | ToolSchema | str
"""What an agent may have as a tool; a text names a registered tool, or a function of Coterie's."""


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
            "of a tool function or of a registered tool"
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


def name_of(tool: AnyTool) -> str:
    """Return the name under which a model calls a tool: `files_read` of `Files.read`."""
    if isinstance(tool, str):
        return tool.replace(".", "_").lower() if "." in tool else tool
    return schema_of(tool).name


def ready_tool(schema: ToolSchema) -> DefinedTool:
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
    executor, arguments = schema.executor, schema.arguments
    owner = getattr(executor, "__qualname__", type(executor).__qualname__)
    path = f"{executor.__module__}:{owner}"
    if arguments is None:
        try:
            function = typed(executor)
        except UnfitFunction as error:
            raise InvalidTool(
                f"the tool {schema.name!r} {error}; or give its `input_schema`"
            ) from None
        whole = FoundTool.model_validate(contract(path, function, terms))
        return DefinedTool(schema, whole, function)
    problem = schema_problem(arguments)
    if problem is not None:
        raise InvalidTool(
            f"the input_schema of the tool {schema.name!r} cannot be checked: {problem}"
        )
    values = {
        **asdict(terms),
        "name": path,
        "description": terms.description or _first_paragraph(executor),
        "input_schema": arguments,
        "output_schema": {},
    }
    return DefinedTool(schema, FoundTool.model_validate(values), None)


def _terms(schema: ToolSchema) -> ToolTerms:
    """Return what the definition says of its calls, over what `@tool` says."""
    marked = terms_of(schema.executor)
    retries = schema.max_retries
    if marked is None:
        marked = ToolTerms(effect="idempotent" if retries else "once", retries=0)
    own: Any = marked.labels
    labels: Any = schema.labels or own
    if isinstance(labels, list | tuple) and isinstance(own, list | tuple):
        labels = tuple(dict.fromkeys(cast("list[Any]", [*own, *labels])))
    return ToolTerms(
        description=schema.description or marked.description,
        effect=marked.effect if schema.effect is None else schema.effect,
        timeout=marked.timeout if schema.timeout_seconds is None else schema.timeout_seconds,
        retries=marked.retries if retries is None else retries,
        labels=cast("tuple[str, ...]", labels),
        secrets=marked.secrets,
    )


def _attributes(tool: BaseTool) -> dict[str, object]:
    """Return the attributes of an instance, also those in slots."""
    held: dict[str, object] = {}
    state: object = object.__getstate__(tool)  # a dict, or also one of the slots, or None
    for part in state if isinstance(state, tuple) else (state,):  # pyright: ignore[reportUnknownVariableType]
        held.update(cast("dict[str, object]", part or {}))
    return held


def _is_equal(value: object, other: object) -> bool:
    return value is other or (value == other) is True  # an array says neither


def _object_schema(parameters: Mapping[str, JsonValue]) -> Json:
    if parameters.get("type") == "object":
        return dict(parameters)
    required: list[JsonValue] = [
        name
        for name, schema in parameters.items()
        if not (isinstance(schema, dict) and "default" in schema)
    ]
    return {
        "type": "object",
        "properties": dict(parameters),
        "required": required,
        "additionalProperties": False,
    }


def _first_paragraph(value: object) -> str:
    text = getdoc(value) if getattr(value, "__doc__", None) else None
    return " ".join((text or "").partition("\n\n")[0].split())


class ToolRegistry:
    """Holds tools by name; two tools never have the same one."""

    def __init__(self) -> None:
        self._tools: dict[str, ToolSchema] = {}

    def register(
        self, tool: Executor | BaseTool | ToolSchema, *, name: str | None = None
    ) -> ToolSchema:
        """Add a tool, under its own name or another one, and return its definition.

        Raises:
            InvalidTool: It cannot be a tool, or the name is taken by another one.
        """
        schema = schema_of(tool)
        if name is not None:
            schema = replace(schema, name=name)
        ready_tool(schema)  # a tool that cannot be called fails here, not in a run
        if self._tools.setdefault(schema.name, schema) != schema:
            raise InvalidTool(f"another tool is already registered as {schema.name!r}")
        return schema

    def register_simple(
        self,
        name: str,
        description: str,
        executor: Executor,
        input_schema: Mapping[str, JsonValue] | None = None,
        timeout_seconds: float | None = None,
        max_retries: int | None = None,
        *,
        effect: Effect | None = None,
        labels: tuple[Label, ...] = (),
        requires_approval: bool = False,
    ) -> ToolSchema:
        """Add a function as a tool; the arguments are the fields of a ToolSchema.

        Raises:
            InvalidTool: It cannot be a tool, or the name is taken by another one.
        """
        return self.register(
            ToolSchema(
                name,
                executor,
                description,
                input_schema,
                timeout_seconds,
                max_retries,
                effect,
                labels,
                requires_approval,
            )
        )

    def get(self, name: str) -> ToolSchema:
        """Return the tool of this name.

        Raises:
            InvalidTool: There is none; names the nearest.
        """
        schema = self._tools.get(name)
        if schema is None:
            hint = nearest(name, self._tools)
            raise InvalidTool(
                f"no tool is registered as {name!r}; registered: {listed(self._tools)}"
                + (f": {hint}" if hint else "")
            )
        return schema

    def list(self) -> list[str]:
        """Return the names of all tools, in the order of registration."""
        return [*self._tools]

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[ToolSchema]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)
