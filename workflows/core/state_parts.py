"""The pieces of what a run remembers.

A visit of a team and the plan of a persona each have a Frame. `workflows.core.progress` keeps how
far each composite step is. So an interpreter that starts anew with the same state continues at the
same location (see docs/decisions/0007-frames-keep-every-position.md).
"""

from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from coterie.activities.contracts import Notification
from coterie.dsl.evaluate.because import route_because
from coterie.dsl.evaluate.context_writes import ContextWrite
from coterie.dsl.model.causes import RouteCause, Started
from coterie.dsl.model.outcomes import Failure, Outcome
from coterie.dsl.model.step_kinds.join_policies import MergePolicy
from coterie.dsl.task_graph.graph_data import GraphView
from coterie.dsl.values import Json
from coterie.workflows.core.messages import PushInput

_STARTED = Started("started")


@dataclass(slots=True)
class PendingNotification:
    """A notification in delivery."""

    message: Notification
    id: str
    """Id of the activity: `0003.review.sign_off.request`."""
    team: str
    visit: int
    step: str | None


@dataclass(slots=True)
class PushReceivers:
    """The A2A clients that hear where the run is."""

    by_id: dict[str, PushInput] = field(default_factory=dict[str, PushInput])
    latest: str = ""
    """The state that they know, and what the run waits for there."""
    count: int = 0
    """Messages so far."""


@dataclass(slots=True)
class SessionMessage:
    """A message to a session."""

    id: str
    """Of its update: a message that is sent again has the same."""
    value: JsonValue
    by: str
    is_read: bool = False
    """Of a message that joined another one: whether an agent has read it."""
    joined: list["SessionMessage"] = field(default_factory=list["SessionMessage"])
    """Messages that came while the run worked on this one, for its agent: they share its reply."""


@dataclass(slots=True)
class SessionReply:
    """How a message was answered."""

    value: JsonValue = None
    error: Failure | None = None
    """Why it has no reply."""


@dataclass(slots=True)
class Session:
    """The messages of a run that is a conversation."""

    queue: list[SessionMessage] = field(default_factory=list[SessionMessage])
    """Messages that no step has taken yet, in the order of their arrival."""
    open: SessionMessage | None = None
    """The message that the run works on."""
    replies: dict[str, SessionReply] = field(default_factory=dict[str, SessionReply])
    """`{id of a message: its reply}` of the latest ones, for a message that is sent again."""
    received: int = 0
    """Messages so far, without those that joined another one."""
    joined: int = 0
    """Messages that joined the one that the run worked on."""
    steers: bool = False
    """Whether a message that comes while the run works on this one joins it."""
    teams_before: int = 0
    """Team visits before the latest message: they no longer count."""
    visits_before: dict[str, int] = field(default_factory=dict[str, int])
    """The same of each team."""
    refused: str = ""
    """Why the run refused the message that started it: the run then ends."""

    @property
    def total(self) -> int:
        """All messages so far."""
        return self.received + self.joined


@dataclass(slots=True)
class Frame:
    """The memory of one team visit, or of one plan in progress."""

    tasks: dict[str, Outcome] = field(default_factory=dict[str, Outcome])
    """Outcomes so far, in the order in which the steps ended."""
    variables: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    input: JsonValue = None
    earlier: dict[str, None] = field(default_factory=dict[str, None])
    """Steps whose outcome is of an earlier round, in a round that has not come to them yet."""

    def end(self, name: str, outcome: Outcome) -> None:
        """Keep the outcome of a step that has just ended."""
        self.tasks[name] = outcome
        if self.earlier:
            self.earlier.pop(name, None)

    def carried(self) -> "Frame":
        """Return the frame for the next history; views of task graphs travel without the graph."""
        views = {
            name: value.carried()
            for name, value in self.variables.items()
            if isinstance(value, GraphView)
        }
        return replace(self, variables={**self.variables, **views}) if views else self

    def copy(self) -> "Frame":
        """Return a frame for a concurrent branch: the same values in mappings of its own."""
        return Frame(dict(self.tasks), dict(self.variables), self.input, dict(self.earlier))


@dataclass(slots=True)
class Tally:
    """What the calls of one task have used, by model or tool function."""

    task: str
    """`team/path`."""
    persona: str = ""
    model: str = ""
    """`provider/model`."""
    tool: str = ""
    calls: int = 0
    """Calls begun; the attempts of one call count once, and their usage adds up."""
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None
    """US dollars of the calls that have a price."""
    unpriced: int = 0
    """Calls that used tokens without a price."""
    unreported: int = 0
    """Turns of agents that do not report their usage."""
    cut_off: int = 0
    """Model calls that were left, or lost with their worker: their input is estimated."""
    largest_call: Annotated[int, Field(exclude=True)] = 0
    """Tokens in and out of the largest call, since the run last continued as new."""
    seconds: float = 0.0
    estimated: int = 0
    """Model calls whose provider reports no usage: their tokens are estimated."""


@dataclass(slots=True)
class CachedResult:
    """The result of a call of a tool with `cache: run`."""

    data: JsonValue = None
    text: str = ""
    """What the tool said beside it."""
    name: str = ""
    """Of the value that the worker stored; empty if the state has the data."""
    size: int = 0


@dataclass(slots=True)
class ReadInProgress:
    """A call of a tool with `cache: run`, for which equal calls wait."""

    ended: bool = False
    result: CachedResult | None = None
    """None if it has not succeeded."""


@dataclass(slots=True)
class BudgetBalance:
    """The usage of one budget, and its consequences."""

    used: float = 0.0
    estimated: bool = False
    """Whether some of it is of providers that report no usage."""
    extended: float = 0.0
    """The extensions that people granted."""
    warned: bool = False
    unpriced: str = ""
    """A model without a price that a budget of money had to pay for."""
    unpriced_allowed: bool = False
    """Whether a person let the run continue without a price."""
    visit: int | None = None
    """The visit of the team that the used-up budget routed to."""
    asking: str | None = None
    """The location of the call that asks a person about it."""
    reserved: Annotated[float, Field(exclude=True)] = 0.0
    """What the calls in progress will probably use; none is, when the run continues as new."""
    reservations: Annotated[int, Field(exclude=True)] = 0
    """The number of these calls."""


@dataclass(slots=True)
class Routed:
    """Why the run entered its current team."""

    reason: str = "entry"
    cause: RouteCause = _STARTED
    from_team: str | None = None
    error: Failure | None = None
    """Why the team before failed, if it did."""
    failed_task: str | None = None

    @property
    def because(self) -> str:
        """The cause in words."""
        return route_because(self.cause)

    def seen(self) -> Json:
        """Return what templates see as `routing`."""
        error = self.error
        failure: JsonValue = None
        if error is not None:
            failure = {"task": self.failed_task, "type": error.type, "message": error.message}
        return {"reason": self.reason, "from": self.from_team, "error": failure}


@dataclass(slots=True)
class FanOut:
    """Branches of a fan-out that a track waits for."""

    branches: tuple[str, ...]
    """The teams that the branches began with, in written order."""
    visit: int = 0
    """The visit of the team that fans out."""
    concentrator: str | None = None
    merge: dict[str, MergePolicy] = field(default_factory=dict[str, MergePolicy])
    left: float | None = None
    """Seconds left for the branches when the run continued as new."""


@dataclass(slots=True)
class Track:
    """One path through the teams: the run's own, a fan-out branch, or a team called as a step."""

    context: Json = field(default_factory=dict[str, JsonValue])
    team: str | None = None
    """The current team; None before the plan is known, and after the end."""
    visit: int = 0
    """Number of the current team's visit in this run; 0 before it is entered."""
    routed: Routed = field(default_factory=Routed)
    latest: dict[str, dict[str, Outcome]] = field(default_factory=dict[str, dict[str, Outcome]])
    """`{team: {task: Outcome}}` of each team's latest visit, as seen from this track."""
    updates: list[ContextWrite] = field(default_factory=list[ContextWrite])
    """What this track has written to the context since the fan-out, in order."""
    branch: bool = False
    """Whether it is a branch of a fan-out."""
    fan_out: FanOut | None = None
    arrived: str | None = None
    """The concentrator where this branch waits for the others."""
    end: Literal["running", "done", "failed", "cancelled"] = "running"
    error: Failure | None = None
    gathered: dict[str, JsonValue] | None = None
    """`{branch: {status, data, error}}` for the concentrator that this track visits next."""
    enclosing_tools: tuple[str, ...] = ()
    """The tools made of agents and teams whose calls contain the track, outermost first; only where
    a plan narrows grants by them."""
    personas: tuple[str, ...] = ()
    """The personas whose plans and turns contain the track, outermost first; their budgets pay."""
