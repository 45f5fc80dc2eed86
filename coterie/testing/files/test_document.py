"""The file of tests beside a team, as a person writes it; the reference is docs/testing.md.

Values under `expect` are what is found, or a mapping of operators that all hold
(`expectations.py`).
"""

from typing import Annotated, Literal, TypeVar

from pydantic import Discriminator, Field, JsonValue, Tag, model_validator

from activities.providers.script import ScriptedAnswer
from dsl.model.outcomes import End
from dsl.values import Frozen, Json, Seconds, misfit
from workflows.core.views import TrailKind

Ending = End
"""How a run may end, in the words of its result."""

T = TypeVar("T")


def _list_or_text(value: object) -> str:
    return "literal[list]" if isinstance(value, list | tuple) else "literal[text]"


Several = Annotated[
    Annotated[tuple[T, ...], Tag("literal[list]")] | Annotated[str, Tag("literal[text]")],
    Discriminator(_list_or_text),
]
"""A list, or one text; a mistake in the list is not also told as a list that is no text."""

Check = JsonValue
"""A value that is to be found, or `{operator: value}`."""


class SkillError(Frozen):
    """How a call of a skill fails for good."""

    type: str = Field(default="SkillFailed", min_length=1)
    message: str


class SkillResultDocument(Frozen):
    """What a call of a skill came to, instead of running the skill."""

    step: str = Field(min_length=1)
    """`team/path` of the step, as the trail tells it."""
    visit: int | None = Field(default=None, ge=1)
    """Which execution of the step in the run. Default: every one."""
    data: JsonValue = None
    error: SkillError | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> "SkillResultDocument":
        if ("data" in self.model_fields_set) is ("error" in self.model_fields_set):
            raise misfit("answer", "an entry has either `data` or an `error`")
        return self


class DecisionDocument(Frozen):
    """A decision, taken when the request has waited for so long; each request meets it once."""

    approval: str = Field(default="*", min_length=1)
    """A pattern with `*` and `?` over `team/step#visit`."""
    decision: Literal["approve", "reject", "retry", "skip"]
    """`retry` is for a failed task that waits, `skip` for an approval too."""
    payload: JsonValue = None
    """With `approve`, of what is editable: what shall be instead of what was shown."""
    value: JsonValue = None
    """With `skip`: what counts as the task's data."""
    by: str = Field(default="tester", min_length=1)
    comment: str = ""
    after: Seconds = 0.0
    refused: bool = False
    """The run is to refuse it."""

    @model_validator(mode="after")
    def _as_decided(self) -> "DecisionDocument":
        if self.payload is not None and self.decision != "approve":
            raise misfit("decision", "a `payload` goes with `decision: approve`")
        if self.value is not None and self.decision != "skip":
            raise misfit("decision", "a `value` goes with `decision: skip`")
        return self


class SignalDocument(Frozen):
    """A named signal, sent at a given moment."""

    signal: str = Field(min_length=1)
    payload: JsonValue = None
    during: str | None = None
    """`team/path` of a step: when it is in progress. Default: when the run begins."""
    after: Seconds = 0.0
    """So long after that."""


class CancelDocument(Frozen):
    """The cancellation of the run, at a given moment."""

    during: str | None = None
    after: Seconds = 0.0


class PauseDocument(Frozen):
    """A pause of the run, from a given moment on."""

    lasts: Seconds
    """Then the run is resumed."""
    by: str = Field(default="tester", min_length=1)
    why: str = ""
    during: str | None = None
    after: Seconds = 0.0


class AmendmentDocument(Frozen):
    """A change of the context from outside, at a given moment."""

    updates: Json = Field(min_length=1)
    """`{dotted path: value}`."""
    by: str = Field(default="tester", min_length=1)
    why: str = ""
    during: str | None = None
    after: Seconds = 0.0


class RedirectDocument(Frozen):
    """A redirect of the run to another team, at a given moment."""

    team: str = Field(min_length=1)
    """The team that comes next, whatever the routing says."""
    by: str = Field(default="tester", min_length=1)
    why: str = ""
    during: str | None = None
    after: Seconds = 0.0
    refused: bool = False
    """The run must refuse it."""


class SkipDocument(Frozen):
    """A task that a person skips, at a given moment, whether it runs or is still to come."""

    task: str = Field(min_length=1)
    """`team/task`."""
    value: JsonValue = None
    """The task's data from then on."""
    by: str = Field(default="tester", min_length=1)
    why: str = ""
    during: str | None = None
    after: Seconds = 0.0
    refused: bool = False
    """The run must refuse it."""


class TrailCheck(Frozen):
    """An entry of the trail; what is left out may be anything."""

    event: TrailKind | None = None
    team: Check = None
    visit: Check = None
    step: Check = None
    status: Check = None
    because: Check = None
    next_team: Check = None
    seconds: Check = None
    tokens: Check = None


class NoticeCheck(Frozen):
    """What people are told, or would be outside of a test; what is left out may be anything."""

    what: Check = None
    """`request`, `reminder`, `escalation` or `timeout`."""
    request: Check = None
    """`team/step#visit`."""
    channel: Check = None
    number: Check = None
    """The how-manieth reminder or escalation."""
    text: Check = None
    prompt: Check = None
    approvers: Check = None


class ErrorCheck(Frozen):
    """What a run that did not complete says of it."""

    type: Check = None
    message: Check = None


class ExpectDocument(Frozen):
    """What is to be found when the run is over; what is left out may be anything but `end`."""

    end: Ending = "completed"
    path: tuple[Several[str], ...] | None = None
    """The teams in the order of their visits; a list within it is met in any order."""
    visits: dict[str, Check] = Field(default_factory=dict[str, Check])
    context: dict[str, Check] = Field(default_factory=dict[str, Check])
    """`{dotted path: check}` over the run's context at its end."""
    output: dict[str, Check] = Field(default_factory=dict[str, Check])
    """`{dotted path: check}` over `{task: data}` of the last team."""
    trail: tuple[TrailCheck, ...] = ()
    """Entries that come in this order; others may lie between them."""
    notices: tuple[NoticeCheck, ...] = ()
    """What people are told, in this order; other notices may lie between them."""
    files: dict[str, Check] = Field(default_factory=dict[str, Check])
    """`{path in the workspace: check}` over the texts of files; a file may not exist."""
    error: ErrorCheck | None = None
    model_calls: Check = None
    skill_calls: Check = None
    tokens: Check = None
    cost: Check = None
    """In US dollars, by the public prices of the personas' models."""
    teams_run: Check = None
    duration: Check = None
    """On the run's own clock."""


class CaseDocument(Frozen):
    """One run and what is expected of it."""

    name: str = Field(min_length=1)
    context: Json = Field(default_factory=dict[str, JsonValue])
    answers: Several[ScriptedAnswer] = ()
    skills: tuple[SkillResultDocument, ...] = ()
    files: dict[str, str] = Field(default_factory=dict[str, str])
    decisions: tuple[DecisionDocument, ...] = ()
    signals: tuple[SignalDocument, ...] = ()
    pauses: tuple[PauseDocument, ...] = ()
    amendments: tuple[AmendmentDocument, ...] = ()
    redirects: tuple[RedirectDocument, ...] = ()
    skips: tuple[SkipDocument, ...] = ()
    cancel: CancelDocument | None = None
    crash_after: Several[str] = ()
    """Steps as `team/path`, or `team/path#2` for the second execution: the worker ends hard when
    the step has ended, and a new one goes on."""
    crash_during: Several[str] = ()
    """The same, while the step is in progress: waiting, or before its call is taken."""
    expect: ExpectDocument = ExpectDocument()


class TestDocument(Frozen):
    """A whole file."""

    __test__ = False  # pytest takes classes by their name

    team: str | None = None
    """A team's name, or a file beside this one. Default: the file that this one is named
    after."""
    model: str | None = None
    """`provider/model` that every persona is said to use; no model is ever called."""
    workspace: str | None = None
    """A folder, relative to this file; each case gets a copy of it, or an empty one."""
    files: dict[str, str] = Field(default_factory=dict[str, str])
    """`{path: text}`, written over the copy."""
    context: Json = Field(default_factory=dict[str, JsonValue])
    """What every case's own context is laid over."""
    answers: Several[ScriptedAnswer] = ()
    """The model's part: entries of a script, or the file of one."""
    skills: tuple[SkillResultDocument, ...] = ()
    cases: tuple[CaseDocument, ...] = Field(min_length=1)
