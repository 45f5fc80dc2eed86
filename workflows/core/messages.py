"""Messages: what people and programs send to a run.

Payloads of its start, of signals, updates and queries; plain and small, so that the `temporal`
CLI takes them whole.
"""

from typing import Annotated, Literal

from pydantic import Field, JsonValue, SerializerFunctionWrapHandler, model_serializer

from dsl.model.plan import Plan
from dsl.sizes import MAX_BY_LENGTH, MAX_NAME_LENGTH, MAX_WHY_LENGTH
from dsl.values import Frozen, Json

By = Annotated[str, Field(max_length=MAX_BY_LENGTH)]
Why = Annotated[str, Field(max_length=MAX_WHY_LENGTH)]
Name = Annotated[str, Field(max_length=MAX_NAME_LENGTH)]
"""Of a request, a task, a team."""


class ForkInput(Frozen):
    """Another run, and the point from which this one goes on; its plan comes with it."""

    run: str
    run_id: str | None = None
    """Of an earlier run of that id. Default: the latest."""
    at: str | None = None
    """The beginning of a visit, `review#2`. Default: where the run failed."""
    updates: Json = Field(default_factory=dict[str, JsonValue])
    """`{dotted path: value}`: what is otherwise in the context."""
    by: By = "unknown"
    why: Why = ""


class TeamInput(Frozen):
    """How a run is started: a team the worker knows, inline YAML, a plan, or another run."""

    team: str | None = None
    """The name of a document in the worker's catalog."""
    document: str | None = None
    """Inline YAML; the worker compiles it and trusts nothing in it."""
    plan: Plan | None = None
    fork: ForkInput | None = None
    context: Json = Field(default_factory=dict[str, JsonValue])
    carried: Json | None = None
    """The state of a run that continues as new; only the run itself writes this."""
    marked: bool = False
    """With a plan: ask the worker for its visibility settings; without one it sends them anyway."""


WORKER_BLOCKED = "worker_blocked"
"""The signal by which a watchdog reports that the run blocked a worker."""


class Control(Frozen):
    """The payload of the signals `pause`, `resume` and `worker_blocked`."""

    by: By = "unknown"
    why: Why = ""


class AmendInput(Frozen):
    """The payload of the update `amend`: changes to the context at the next boundary."""

    updates: Json
    """`{dotted path: value}`."""
    by: By = "unknown"
    why: Why = ""


class RedirectInput(Frozen):
    """The payload of the update `redirect`: the next team, in place of the routes."""

    team: Name
    by: By = "unknown"
    why: Why = ""


class RetryInput(Frozen):
    """The payload of the update `retry`: retry a failed task that waits."""

    task: Name | None = None
    """`team/task`, or its end; not needed when just one waits."""
    by: By = "unknown"
    why: Why = ""


class SkipInput(Frozen):
    """The payload of the update `skip`: skip a task, now or when it starts."""

    task: Name
    """`team/task`, or its end."""
    value: JsonValue = None
    """What counts as its data from then on."""
    by: By = "unknown"
    why: Why = ""


class Answer(Frozen):
    """The payload of the signals `approve` and `reject`."""

    id: Name
    """Which request: as the query `pending` gives it, `team/step#visit`."""
    by: By = "unknown"
    comment: Why = ""
    digest: str | None = None
    """Digest of the request as the query `pending` shows it. If the request has changed since, the
    decision is refused. Required after a change, and by `digest: required`."""
    payload: JsonValue = None
    """Replacement for the shown value of an `editable` request. An explicit null counts."""

    @property
    def given(self) -> bool:
        """Whether it replaces the value shown."""
        return "payload" in self.model_fields_set

    @model_serializer(mode="wrap")
    def _with_null(self, serialize: SerializerFunctionWrapHandler) -> Json:
        """A payload that is given travels also when it is null, which is the default."""
        return {**serialize(self), "payload": self.payload} if self.given else serialize(self)


class DecideInput(Answer):
    """The payload of the update `decide`."""

    decision: Literal["approve", "reject"]


class RequestAsked(Frozen):
    """The argument of the query `request`."""

    id: str


class EventsAsked(Frozen):
    """The argument of the query `events`."""

    since: int = 0
    """Entries after this number."""


_Segment = Annotated[str, Field(max_length=2000)]
_Path = _Segment | Annotated[tuple[_Segment, ...], Field(max_length=200)]


class StateAsked(Frozen):
    """The argument of the query `state`."""

    path: _Path = ""
    """Dotted; a list of names where one of them has a dot itself."""
    start: int = Field(default=0, ge=0)
    """The character, item or key with which the page begins."""
