"""The test file of a team as people write it; docs/testing.md is the reference.

Values under `expect` are expected values, or mappings of operators that must all hold
(`expectations.py`).
"""

from typing import Annotated, Literal, TypeVar

from pydantic import Discriminator, Field, JsonValue, Tag, model_validator

from coterie.activities.providers.scripts.script import ScriptedAnswer
from coterie.dsl.model.outcomes import End
from coterie.dsl.sizes import MAX_SAID_LENGTH
from coterie.dsl.values import Frozen, Json, Seconds, form_mismatch
from coterie.testing.files.stand_ins import StandInDocument
from coterie.workflows.core.views import TrailKind

T = TypeVar("T")


def _list_or_text(value: object) -> str:
    return "literal[list]" if isinstance(value, list | tuple) else "literal[text]"


Several = Annotated[
    Annotated[tuple[T, ...], Tag("literal[list]")] | Annotated[str, Tag("literal[text]")],
    Discriminator(_list_or_text),
]
"""A list, or a single string; an error inside the list is not also reported as a wrong string."""

Check = JsonValue
"""An expected value, or `{operator: value}`."""


class FunctionError(Frozen):
    """A failure of a function call, not retried."""

    type: str = Field(default="FunctionFailed", min_length=1)
    message: str


class ToolQuestionDocument(Frozen):
    """What a tool of an MCP server asks a person before it gives its result."""

    message: str = Field(min_length=1)
    schema_: Json = Field(alias="schema")
    """JSON Schema of the answer, an object."""


class FunctionResultDocument(Frozen):
    """The result of a function call, returned instead of running the tool function."""

    step: str = Field(min_length=1)
    """`team/path` of the step, as in the trail; of a model's call, also without its turn:
    `team/task/tool`."""
    visit: int | None = Field(default=None, ge=1)
    """Which execution of the step in the run. Default: all."""
    asks: ToolQuestionDocument | None = None
    """Of a tool of an MCP server: what it asks first. A person's answer then gives the result."""
    data: JsonValue = None
    text: str = ""
    """What a tool of an MCP server says beside its structured content."""
    error: FunctionError | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> "FunctionResultDocument":
        if ("data" in self.model_fields_set) is ("error" in self.model_fields_set):
            raise form_mismatch("answer", "an entry has either `data` or an `error`")
        return self


class DecisionDocument(Frozen):
    """A decision, made after the request has waited; each request uses it once."""

    approval: str = Field(default="*", min_length=1)
    """A pattern with `*` and `?` over `team/step#number`."""
    decision: Literal["approve", "reject", "retry", "skip"]
    """`retry` is for a failed task that waits, `skip` also for an approval."""
    payload: JsonValue = None
    """For `approve` of an editable request: replaces what was shown."""
    value: JsonValue = None
    """For `skip`: the task's data."""
    by: str = Field(default="tester", min_length=1)
    comment: str = ""
    after: Seconds = 0.0
    refused: bool = False
    """The run must refuse it."""

    @model_validator(mode="after")
    def _as_decided(self) -> "DecisionDocument":
        if self.payload is not None and self.decision != "approve":
            raise form_mismatch("decision", "a `payload` goes with `decision: approve`")
        if self.value is not None and self.decision != "skip":
            raise form_mismatch("decision", "a `value` goes with `decision: skip`")
        return self


class SignalDocument(Frozen):
    """A named signal, sent at a given time."""

    signal: str = Field(min_length=1)
    payload: JsonValue = None
    during: str | None = None
    """`team/path` of a step: while it is in progress. Default: when the run starts."""
    after: Seconds = 0.0
    """Delay after that."""


class MessageDocument(Frozen):
    """A message to a session, sent after the one before it has been taken."""

    message: JsonValue
    by: str = Field(default="tester", min_length=1)
    during: str | None = None
    """`team/path` of a step: while it is in progress. Default: when the run waits for a message."""
    after: Seconds = 0.0
    """Delay after that."""
    reply: Check = None
    """A check on the reply."""
    refused: str | None = None
    """The code with which the run must refuse it, or end without a reply."""


class CancelDocument(Frozen):
    """Cancels the run at a given time."""

    during: str | None = None
    after: Seconds = 0.0


class PauseDocument(Frozen):
    """Pauses the run at a given time."""

    lasts: Seconds
    """Duration, after which the run is resumed."""
    by: str = Field(default="tester", min_length=1)
    why: str = ""
    during: str | None = None
    after: Seconds = 0.0


class AmendmentDocument(Frozen):
    """An external change of the context, at a given time."""

    updates: Json = Field(min_length=1)
    """`{dotted path: value}`."""
    by: str = Field(default="tester", min_length=1)
    why: str = ""
    during: str | None = None
    after: Seconds = 0.0


class RedirectDocument(Frozen):
    """A redirect of the run to another team, at a given time."""

    team: str = Field(min_length=1)
    """The next team, whatever the routing says."""
    by: str = Field(default="tester", min_length=1)
    why: str = ""
    during: str | None = None
    after: Seconds = 0.0
    refused: bool = False
    """The run must refuse it."""


class SkipDocument(Frozen):
    """A task that a person skips at a given time, running or not yet started."""

    task: str = Field(min_length=1)
    """`team/task`."""
    value: JsonValue = None
    """The task's data after the skip."""
    by: str = Field(default="tester", min_length=1)
    why: str = ""
    during: str | None = None
    after: Seconds = 0.0
    refused: bool = False
    """The run must refuse it."""


class SayDocument(Frozen):
    """A text that a person says to an agent at work, at a given time."""

    text: str = Field(min_length=1, max_length=MAX_SAID_LENGTH)
    """Read by the next turn of the agent."""
    step: str | None = Field(default=None, min_length=1)
    """`team/path` of the agent. Default: the one at work that no other agent has called."""
    by: str = Field(default="tester", min_length=1)
    during: str | None = None
    after: Seconds = 0.0
    refused: bool = False
    """The run must refuse it."""


class TrailCheck(Frozen):
    """A trail entry; omitted fields match anything."""

    event: TrailKind | None = None
    team: Check = None
    visit: Check = None
    step: Check = None
    status: Check = None
    because: Check = None
    next_team: Check = None
    seconds: Check = None
    tokens: Check = None


class NotificationCheck(Frozen):
    """A notification to people; omitted fields match anything."""

    what: Check = None
    """`request`, `reminder`, `escalation` or `timeout`."""
    request: Check = None
    """`team/step#number`."""
    channel: Check = None
    number: Check = None
    """Ordinal of the reminder or escalation, from 1."""
    text: Check = None
    prompt: Check = None
    approvers: Check = None


class ErrorCheck(Frozen):
    """The error of a run that did not complete."""

    type: Check = None
    message: Check = None


class ExpectDocument(Frozen):
    """Expectations after the end of the run; everything but `end` is optional."""

    end: End = "completed"
    path: tuple[Several[str], ...] | None = None
    """The teams in the order of their visits; a nested list matches in any order."""
    visits: dict[str, Check] = Field(default_factory=dict[str, Check])
    context: dict[str, Check] = Field(default_factory=dict[str, Check])
    """`{dotted path: check}` on the run's final context."""
    output: dict[str, Check] = Field(default_factory=dict[str, Check])
    """`{dotted path: check}` on what the run returns; the path `.` is all of it."""
    trail: tuple[TrailCheck, ...] = ()
    """Entries that occur in this order, with others between them."""
    notices: tuple[NotificationCheck, ...] = ()
    """Notifications in this order, with others between them."""
    files: dict[str, Check] = Field(default_factory=dict[str, Check])
    """`{path in the workspace: check}` on the contents of files, which may be missing."""
    error: ErrorCheck | None = None
    model_calls: Check = None
    function_calls: Check = None
    tokens: Check = None
    cost: Check = None
    """In US dollars, by the public prices of the personas' models."""
    teams_run: Check = None
    duration: Check = None
    """On the run's own clock."""


class CaseDocument(Frozen):
    """One run and its expectations."""

    name: str = Field(min_length=1)
    context: Json = Field(default_factory=dict[str, JsonValue])
    answers: Several[ScriptedAnswer] = ()
    functions: tuple[FunctionResultDocument, ...] = ()
    files: dict[str, str] = Field(default_factory=dict[str, str])
    real: bool = False
    """Whether Python tools with the effect `once` really run where the file has no result."""
    decisions: tuple[DecisionDocument, ...] = ()
    signals: tuple[SignalDocument, ...] = ()
    messages: tuple[MessageDocument, ...] = ()
    pauses: tuple[PauseDocument, ...] = ()
    amendments: tuple[AmendmentDocument, ...] = ()
    redirects: tuple[RedirectDocument, ...] = ()
    skips: tuple[SkipDocument, ...] = ()
    says: tuple[SayDocument, ...] = ()
    cancel: CancelDocument | None = None
    crash_after: Several[str] = ()
    """Steps as `team/path`, or `team/path#2` for the second execution: the worker is killed when
    the step has ended, and a new one continues."""
    crash_during: Several[str] = ()
    """The same, while the step is in progress: waiting, or before its call starts."""
    expect: ExpectDocument = ExpectDocument()


class TestDocument(Frozen):
    """A whole file."""

    __test__ = False  # pytest collects classes by name

    team: str | None = None
    """A team's name, or a file beside this one. Default: the file that this one is named after."""
    model: str | None = None
    """`provider/model` for all personas, for prices; no model is ever called."""
    workspace: str | None = None
    """A folder, relative to this file; each case gets a copy of it. Default: empty."""
    files: dict[str, str] = Field(default_factory=dict[str, str])
    """`{path: text}`, written over the copy."""
    context: Json = Field(default_factory=dict[str, JsonValue])
    """Defaults for the context of every case."""
    answers: Several[ScriptedAnswer] = ()
    """The model's answers: entries of a script, or the name of its file."""
    functions: tuple[FunctionResultDocument, ...] = ()
    stand_ins: dict[str, StandInDocument] = Field(default_factory=dict[str, StandInDocument])
    """`{Name.method: ...}`: tool functions that do not exist yet."""
    cases: tuple[CaseDocument, ...] = Field(min_length=1)
