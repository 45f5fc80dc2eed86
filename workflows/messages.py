"""What people and programs say to a run.

Payloads of its start, of signals, updates and queries; plain and small, so that the `temporal`
CLI takes them whole.
"""

from typing import Literal

from pydantic import Field, JsonValue

from dsl.plan import Plan
from dsl.values import Frozen, Json


class ForkInput(Frozen):
    """Another run, and the point from which this one goes on; its plan comes with it."""

    run: str
    run_id: str | None = None
    """Of an earlier run of that id; the latest unless said."""
    at: str | None = None
    """The beginning of a visit, `review#2`; where the run failed, unless said."""
    updates: Json = Field(default_factory=dict[str, JsonValue])
    """`{dotted path: value}`: what is otherwise in the context."""
    by: str = "unknown"
    why: str = ""


class TeamInput(Frozen):
    """How a run is started: a team the worker knows, inline YAML, a plan, or another run."""

    team: str | None = None
    """The name of a document in the worker's catalog."""
    document: str | None = None
    """Inline YAML; compiled on the worker, which trusts none of it."""
    plan: Plan | None = None
    fork: ForkInput | None = None
    context: Json = Field(default_factory=dict[str, JsonValue])
    carried: Json | None = None
    """The state of a run that continues as new; only the run itself writes this."""
    marked: bool = False
    """With a plan: ask the worker how the run is to be seen; without one it says so anyway."""


class Control(Frozen):
    """The payload of the signals `pause` and `resume`."""

    by: str = "unknown"
    why: str = ""


class AmendInput(Frozen):
    """The payload of the update `amend`: changes to the context at the next boundary."""

    updates: Json
    """`{dotted path: value}`."""
    by: str = "unknown"
    why: str = ""


class RedirectInput(Frozen):
    """The payload of the update `redirect`: the team that comes next, whatever the routes say."""

    team: str
    by: str = "unknown"
    why: str = ""


class RetryInput(Frozen):
    """The payload of the update `retry`: a failed task that waits is tried again."""

    task: str | None = None
    """`team/task`, or its end; not needed when just one waits."""
    by: str = "unknown"
    why: str = ""


class SkipInput(Frozen):
    """The payload of the update `skip`: a task is left out, now or when it begins."""

    task: str
    """`team/task`, or its end."""
    value: JsonValue = None
    """What counts as its data from then on."""
    by: str = "unknown"
    why: str = ""


class Answer(Frozen):
    """The payload of the signals `approve` and `reject`."""

    id: str = Field(max_length=500)
    """Which request: as the query `pending` gives it, `team/step#visit`."""
    by: str = Field(default="unknown", max_length=200)
    comment: str = Field(default="", max_length=10_000)
    digest: str | None = None
    """Of what was shown, as `pending` gives it: a request that shows something else by now is not
    decided by it."""
    payload: JsonValue = None
    """What shall be instead of what was shown, where the request is `editable`."""


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


class StateAsked(Frozen):
    """The argument of the query `state`."""

    path: str | tuple[str, ...] = ""
    """Dotted; a list of names where one of them has a dot itself."""
    start: int = Field(default=0, ge=0)
    """The character, item or key with which the page begins."""
