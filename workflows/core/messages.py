"""Messages: what people and programs send to a run.

The payloads of its start, of signals, updates and queries; plain and small, so that the `temporal`
CLI accepts them whole.
"""

from typing import Annotated, Literal

from pydantic import Field, JsonValue, SerializerFunctionWrapHandler, model_serializer

from coterie.dsl.model.plan import Plan
from coterie.dsl.model.step_kinds.wait_step import WhileBusy
from coterie.dsl.sizes import MAX_BY_LENGTH, MAX_NAME_LENGTH, MAX_SAID_LENGTH, MAX_WHY_LENGTH
from coterie.dsl.values import Frozen, Json
from coterie.workflows.signatures.statements import Proof

By = Annotated[str, Field(max_length=MAX_BY_LENGTH)]
Why = Annotated[str, Field(max_length=MAX_WHY_LENGTH)]
MAX_PUSH_URL = 2_000
MAX_PUSH_TOKEN = 500
Name = Annotated[str, Field(max_length=MAX_NAME_LENGTH)]
"""Characters of the name of a request, a task, a team."""


class ForkInput(Frozen):
    """Another run, and the point from which this one continues; its plan comes with it."""

    run: str
    run_id: str | None = None
    """The id of an earlier execution of that run. Default: the latest."""
    at: str | None = None
    """The start of a visit, `review#2`. Default: where the run failed."""
    message: int | None = Field(default=None, ge=1)
    """Instead of a visit: the message of a session that this run waits for again."""
    updates: Json = Field(default_factory=dict[str, JsonValue])
    """`{dotted path: value}`: changes to the context."""
    by: By = "unknown"
    why: Why = ""


class TeamInput(Frozen):
    """How a run starts: a team that the worker knows, inline YAML, a plan, or another run."""

    team: str | None = None
    """The name of a deployed team, such as `review`, or `review@3` for one version of it; or of a
    document in the worker's catalog."""
    document: str | None = None
    """Inline YAML, which the worker checks and compiles."""
    plan: Plan | None = None
    fork: ForkInput | None = None
    context: Json = Field(default_factory=dict[str, JsonValue])
    carried: Json | None = None
    """The state of a run that continues as new; only the run itself writes this."""
    first_message: bool = False
    """The first message of the session comes with the start: if it is refused, the run ends."""
    decisions_root: str | None = None
    """The public root key of signed decisions that the caller expects; a worker with another one,
    or without one, refuses the run."""
    marked: bool = False
    """With a plan: whether to ask the worker for its visibility settings. Without one it always
    sends them.
    """


WORKER_BLOCKED = "worker_blocked"
"""The signal by which a watchdog reports that the run blocked a worker."""


class Control(Frozen):
    """The payload of the signals `pause`, `resume` and `worker_blocked`."""

    by: By = "unknown"
    why: Why = ""


class SignedInput(Frozen):
    """A message that a run with signed decisions takes only with a proof."""

    by: By = "unknown"
    proof: Proof | None = None
    """Who signed it; the run then takes `by` from there."""


class AmendInput(SignedInput):
    """The payload of the update `amend`: changes to the context before the next step or route."""

    updates: Json
    """`{dotted path: value}`."""
    why: Why = ""


class RedirectInput(SignedInput):
    """The payload of the update `redirect`: the next team, in place of the routes."""

    team: Name
    why: Why = ""


class RetryInput(SignedInput):
    """The payload of the update and the signal `retry`: retry a failed task that waits."""

    task: Name | None = None
    """`team/task`, or its end; optional when just one task waits."""
    why: Why = ""
    digest: str | None = Field(default=None, max_length=64)
    """Of the request that was seen: refused if the task waits with another one."""


class SkipInput(SignedInput):
    """The payload of the update and the signal `skip`: skip a task, now or when it starts."""

    task: Name
    """`team/task`, or its end."""
    value: JsonValue = None
    """The data of the task from then on."""
    why: Why = ""
    digest: str | None = Field(default=None, max_length=64)
    """Of the request that was seen: refused if the task waits with another one, or with none."""


class SayInput(SignedInput):
    """The payload of the update `say`: what a person tells an agent that is at work."""

    text: Annotated[str, Field(min_length=1, max_length=MAX_SAID_LENGTH)]
    """The model gets it at its next turn, as a message of the user."""
    step: Name | None = None
    """`team/step` of the agent, or its end; optional when just one agent is at work."""


class PushInput(Frozen):
    """The payload of the update `push`: an A2A client hears where the run is, or no longer."""

    id: Name
    """Of the push configuration; a further one with the same id replaces it."""
    url: Annotated[str, Field(max_length=MAX_PUSH_URL)] = ""
    token: Annotated[str, Field(max_length=MAX_PUSH_TOKEN)] = ""
    """Repeated with each message."""
    context: Annotated[str, Field(max_length=MAX_NAME_LENGTH)] = ""
    """The conversation of the task."""
    removed: bool = False
    """Whether the client wants no further messages."""
    by: By = "unknown"


class Answer(SignedInput):
    """The payload of the signals `approve` and `reject`."""

    id: Name
    """Id of the request, as the query `pending` lists it: `team/step#number`. The number counts the
    step's requests in this run."""
    comment: Why = ""
    digest: str | None = None
    """Digest of the request as the query `pending` shows it. If the request has changed since, the
    decision is refused. Required after a change, and by `digest: required`."""
    payload: JsonValue = None
    """Replacement for the shown value of an `editable` request. An explicit null counts."""

    @model_serializer(mode="wrap")
    def _with_null(self, serialize: SerializerFunctionWrapHandler) -> Json:
        """Keep an explicit null, although it is the default."""
        has_payload = "payload" in self.model_fields_set
        return {**serialize(self), "payload": self.payload} if has_payload else serialize(self)


class DecideInput(Answer):
    """The payload of the update `decide`."""

    decision: Literal["approve", "reject"]


SEND_MESSAGE = "send_message"
"""The update that brings a message of a session."""


class SessionInput(Frozen):
    """The payload of the update `send_message`: the next message of a session."""

    message: JsonValue
    while_busy: WhileBusy | None = None
    """If the run works on another message: whether this one waits for its turn, or is for the agent
    at work. Default: as the step says that took the other one."""
    by: By = "unknown"
    after: str | None = Field(default=None, max_length=500)
    """The id of the newest message that the sender knows: if the session has a newer one, it
    refuses this one. None: it may have any."""


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
    """The character, item or key at which the page starts."""
