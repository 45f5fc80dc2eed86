"""Messages between a worker and a child process that runs user code: JSON, one line each."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue, TypeAdapter

from coterie.activities.processes.child_reply import Reply
from coterie.dsl.model.capabilities import FunctionContract
from coterie.dsl.values import Frozen, Json


class UserCodeFailed(Exception):
    """The process of a call ended or replied with something invalid; the message says how."""


class UserCodeTimeout(Exception):
    """A call exceeded its time limit and was stopped."""


START_SECONDS = 30.0
"""How long a call may wait for a free process that has imported its module, before its own time
counts. A tool may wait for a free one longer, up to half of its own time."""


class AgentCall(Frozen):
    """One turn of an agent class."""

    path: str
    """`package.module.Class`."""
    offered: Json
    """Values for the constructor, `{parameter: value}`."""
    config_names: tuple[str, ...]
    """Parameter names that stand for the whole configuration, the oldest last."""
    context: Json


class NotImported(Frozen):
    """The module cannot be imported."""

    kind: Literal["not_imported"]
    reason: str
    missing: str = ""
    """The module that an import inside it did not find, or found a different one of."""


class NoClass(Frozen):
    """The module has no such class, or the class has no `process`."""

    kind: Literal["no_class"]
    names: tuple[str, ...]
    """The classes that the module has."""


class NoSignature(Frozen):
    """The constructor does not declare its parameters."""

    kind: Literal["no_signature"]


class ConstructorNeeds(Frozen):
    """The constructor needs a parameter that is not offered."""

    kind: Literal["needs"]
    parameter: str


class Raised(Frozen):
    """The class, its constructor or `process` raised."""

    kind: Literal["raised"]
    reason: str


class NotAnAnswer(Frozen):
    """`process` returned something without a boolean `success`."""

    kind: Literal["not_an_answer"]
    type: str


class NotJsonAnswer(Frozen):
    """`process` returned something that is not JSON."""

    kind: Literal["not_json"]
    reason: str


class Answered(Frozen):
    """The result of `process`."""

    kind: Literal["answered"]
    success: bool
    data: JsonValue = None
    error_type: str | None = None
    error: str | None = None


Outcome = Annotated[
    NotImported
    | NoClass
    | NoSignature
    | ConstructorNeeds
    | Raised
    | NotAnAnswer
    | NotJsonAnswer
    | Answered,
    Field(discriminator="kind"),
]


class ToolsQuestion(Frozen):
    """Which tools do these packages have?"""

    modules: tuple[str, ...]


class ModuleImport(Frozen):
    """Import this module, so that the next call of it finds it ready."""

    imports: str


class CallContext(Frozen):
    """What a tool may know of its call."""

    run: str = ""
    call: str = ""
    workspace: str = "."
    """The folder in which it works."""
    secrets: dict[str, str] = Field(default_factory=dict[str, str], repr=False)
    progress: JsonValue = None


class PythonFunctionCall(Frozen):
    """One call of a tool."""

    tool: str
    """`package.module:name`."""
    arguments: JsonValue
    context: CallContext

    @property
    def module(self) -> str:
        """The module of the function."""
        return self.tool.partition(":")[0]


class ProgressNote(Frozen):
    """A tool reports how far it is."""

    note: Literal["heartbeat"]
    progress: JsonValue


class FoundTool(FunctionContract):
    """The contract of a function that is a tool."""

    startup: float = START_SECONDS
    secrets: tuple[str, ...]
    takes_context: bool = False
    """It can learn that its call is cancelled."""


class FoundTools(Frozen):
    """The tools of some packages."""

    kind: Literal["found"]
    tools: tuple[FoundTool, ...]
    problems: tuple[str, ...]
    """What cannot be imported, or cannot be a tool: a sentence each."""


class ModuleReady(Frozen):
    """The module is imported."""

    kind: Literal["ready"]


class NoTool(Frozen):
    """The module has no such tool."""

    kind: Literal["no_tool"]
    names: tuple[str, ...]
    """The tools that the module has."""


class InvalidArguments(Frozen):
    """The arguments do not match the types of the parameters."""

    kind: Literal["invalid_arguments"]
    reason: str


class ToolFailed(Frozen):
    """The function raised a ToolError."""

    kind: Literal["failed"]
    reason: str
    retry: bool


class WrongResult(Frozen):
    """The function returned something else than it declares."""

    kind: Literal["wrong_result"]
    reason: str
    said: str = ""
    """What it returned, for people."""


class Unfit(Frozen):
    """The function cannot be a tool, and was not called."""

    kind: Literal["unfit"]
    reason: str


class FunctionReturned(Frozen):
    """The result of the function."""

    kind: Literal["returned"]
    data: JsonValue


ToolOutcome = Annotated[
    NotImported
    | NoTool
    | InvalidArguments
    | ToolFailed
    | Raised
    | Unfit
    | WrongResult
    | FunctionReturned
    | ModuleReady
    | FoundTools,
    Field(discriminator="kind"),
]

AGENT_REPLY: TypeAdapter[Reply[Outcome]] = TypeAdapter(Reply[Outcome])
TOOL_REPLY: TypeAdapter[Reply[ToolOutcome]] = TypeAdapter(Reply[ToolOutcome])
PROGRESS: TypeAdapter[ProgressNote] = TypeAdapter(ProgressNote)
