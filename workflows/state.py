"""RunState: all that a run remembers. Queries read it; continue-as-new will carry it.

Whatever is in the middle of its work keeps its place here, by path: a team visit and a plan
have a Frame, a block of steps has a Block. So the interpreter, started anew with the same
state, goes on where it was (decision 0007).
"""

from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Literal, cast

from pydantic import JsonValue, TypeAdapter

from activities.contracts import Marks, Notice, OwnQueue, TokenUsage
from dsl.outcomes import Failure, Outcome
from dsl.steps import MergePolicy
from dsl.values import Json
from workflows.messages import (
    AmendInput,
    Decision,
    Paused,
    Pending,
    RedirectInput,
    SkipInput,
    TrailEntry,
    TrailKind,
)

MOST_DECISIONS = 500
"""That a run remembers, of each kind."""

_TRAIL_KEPT = 1000
_TRAIL_CARRIED = 100


def _outcomes() -> dict[str, Outcome]:
    return {}  # not `dict[str, Outcome]`, which as a factory is four times as slow


def _values() -> dict[str, JsonValue]:
    return {}


def _list() -> list[JsonValue]:
    return []


@dataclass(slots=True)
class Noted:
    """One event of a run, as it is remembered; `told` makes the TrailEntry that people get."""

    number: int
    at: float
    """Seconds of Unix time."""
    kind: TrailKind
    team: str
    visit: int
    step: str | None = None
    status: str | None = None
    because: str = ""
    next_team: str | None = None
    updated: tuple[str, ...] = ()
    seconds: float | None = None
    tokens: int | None = None

    def told(self) -> TrailEntry:
        """The entry with its time as people read it."""
        at = datetime.fromtimestamp(self.at, UTC).isoformat(timespec="milliseconds")
        return TrailEntry(
            number=self.number, at=at, kind=self.kind, team=self.team, visit=self.visit,
            step=self.step, status=self.status, because=self.because, next_team=self.next_team,
            updated=self.updated, seconds=self.seconds, tokens=self.tokens,
        )  # fmt: skip


@dataclass(slots=True)
class Telling:
    """A notice on its way."""

    notice: Notice
    id: str
    """Of the call: `0003.review.sign_off.request`."""
    team: str
    visit: int
    step: str | None


@dataclass(slots=True)
class Frame:
    """The memory of one team visit, or of one plan in progress."""

    tasks: dict[str, Outcome] = field(default_factory=_outcomes)
    """Outcomes so far, in the order of their ends."""
    variables: dict[str, JsonValue] = field(default_factory=_values)
    input: JsonValue = None


@dataclass(slots=True)
class Block:
    """How far a list of steps or a loop has come."""

    next: int = 0
    """The next step of a list; the current round of a loop."""
    items: list[JsonValue] | None = None
    """What a loop goes over."""
    results: list[JsonValue] = field(default_factory=_list)
    """One entry per finished round."""
    chosen: int | None = None
    """The way that a branch took, -1 is `otherwise`; the clause that caught a failure."""
    began: float | None = None
    """Unix time at which the step at `next` began; None before it does."""
    because: str = ""
    """What its `when` found."""
    tokens: int = 0
    """What the run had used by then."""
    outcome: Outcome | None = None
    """What came of the work, while something else of the step is still to be done."""
    left: float | None = None
    """Seconds that were left of a wait or a time limit when the run continued as new."""
    ended: dict[str, Outcome] | None = None
    """What came of those ways of several at once that have ended."""
    dropped: int = 0
    """Results of earlier rounds that are not kept any more."""
    repeats: dict[str, list[JsonValue]] | None = None
    """`{digest of a call: [digest of its result, how often in a row, what it is]}` of a loop."""


@dataclass(slots=True)
class Tally:
    """What the calls of one task have used, of one model or one skill."""

    task: str
    """`team/path`."""
    persona: str = ""
    model: str = ""
    """`provider/model`."""
    tool: str = ""
    calls: int = 0
    """Begun; attempts of one call count once, what they used counts all."""
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None
    """US dollars of the calls that have a price."""
    unpriced: int = 0
    """Calls that used tokens without a price."""
    untold: int = 0
    """Turns of agents that do not tell what they use."""
    seconds: float = 0.0


@dataclass(slots=True)
class Pot:
    """What is used of one budget, and what became of it."""

    used: float = 0.0
    extended: float = 0.0
    """By so much, by people."""
    warned: bool = False
    unpriced: str = ""
    """A model without a price, which a budget of money had to pay for."""
    unpriced_allowed: bool = False
    """A person lets it go on all the same."""
    visit: int | None = None
    """Of the team that it led to when it was used up."""
    asking: str | None = None
    """The place of the call that asks a person about it."""


@dataclass(slots=True)
class Routed:
    """Why the run came to its current team."""

    reason: str = "entry"
    because: str = "the run began"
    from_team: str | None = None
    error: Failure | None = None
    """Why that team failed, when it did."""
    failed_task: str | None = None

    def seen(self) -> Json:
        """What templates see as `routing`."""
        error = self.error
        told: JsonValue = None
        if error is not None:
            told = {"task": self.failed_task, "type": error.type, "message": error.message}
        return {"reason": self.reason, "from": self.from_team, "error": told}


@dataclass(slots=True)
class Fork:
    """Branches of a fan-out that a track waits for."""

    branches: tuple[str, ...]
    """The teams that the branches began with, in written order."""
    concentrator: str | None = None
    merge: dict[str, MergePolicy] = field(default_factory=dict[str, MergePolicy])
    left: float | None = None
    """Seconds that were left to the branches when the run continued as new."""


@dataclass(slots=True)
class Track:
    """One way through the teams: the run's own, a branch of a fan-out, a team as a step."""

    context: Json = field(default_factory=_values)
    team: str | None = None
    """The current team; None before the plan is known and after the end."""
    visit: int = 0
    """The current team's visit in this run; 0 before it is entered."""
    routed: Routed = field(default_factory=Routed)
    latest: dict[str, dict[str, Outcome]] = field(default_factory=dict[str, dict[str, Outcome]])
    """`{team: {task: Outcome}}` of each team's latest visit, as seen from this track."""
    updates: list[tuple[str, JsonValue]] = field(default_factory=list[tuple[str, JsonValue]])
    """What this track set in the context since it was forked, in order."""
    branch: bool = False
    """It is a branch of a fan-out."""
    fork: Fork | None = None
    arrived: str | None = None
    """The concentrator where this branch waits for the others."""
    end: Literal["running", "done", "failed", "cancelled"] = "running"
    cleans_up: bool = False
    """It runs because the run was cancelled: its time bounds it, and no limit on visits."""
    error: Failure | None = None
    gathered: dict[str, JsonValue] | None = None
    """`{branch: {status, data, error}}` for the concentrator that this track visits next."""


MAIN = "main"


def _within(key: str, place: str) -> bool:
    if not place.startswith(key):
        return False
    return len(place) == len(key) or key.endswith(":") or place[len(key)] in ":/|!"


@dataclass(slots=True)
class RunState:
    """All that a run remembers."""

    tracks: dict[str, Track] = field(default_factory=lambda: {MAIN: Track()})
    teams_run: int = 0
    visits: dict[str, int] = field(default_factory=dict[str, int])
    """`{team: starts in this run}`, over all tracks."""
    seen: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Context fingerprints by team, where no-progress detection is on."""
    frames: dict[str, Frame] = field(default_factory=dict[str, Frame])
    blocks: dict[str, Block] = field(default_factory=dict[str, Block])
    executions: dict[str, int] = field(default_factory=dict[str, int])
    """How often each step has run in this run, by `team/path`."""
    calls: int = 0
    """Activities so far; numbers their ids."""
    model_calls: int = 0
    skill_calls: int = 0
    usage: TokenUsage = field(default_factory=TokenUsage)
    queues: dict[str, OwnQueue] = field(default_factory=dict[str, OwnQueue])
    """`{provider: the queue that it is called through}`, where a worker has named one."""
    tallies: dict[str, Tally] = field(default_factory=dict[str, Tally])
    """What was used, by task and model or skill."""
    pots: dict[str, Pot] = field(default_factory=dict[str, Pot])
    """What is used of each budget, by its id; of those that some call has touched."""
    marks: Marks | None = None
    """How the run is to be seen from outside."""
    pending: dict[str, Pending] = field(default_factory=dict[str, Pending])
    decisions: dict[str, Decision] = field(default_factory=dict[str, Decision])
    paused: Paused | None = None
    amendments: list[AmendInput] = field(default_factory=list[AmendInput])
    """Changes to the context that wait for the next boundary."""
    redirect: RedirectInput | None = None
    """Where the run goes at the end of the current team, whatever its routes say."""
    remembered: dict[str, Decision] = field(default_factory=dict[str, Decision])
    """Approvals that answer equal requests: `{team/step digest: the decision}`."""
    conversations: dict[str, str] = field(default_factory=dict[str, str])
    """`{conversation: the name of its latest turn}`."""
    talking: list[str] = field(default_factory=list[str])
    """Conversations in which an agent has its turn just now."""
    skips: dict[str, SkipInput] = field(default_factory=dict[str, SkipInput])
    """`{team/path}` of the tasks that people skip, until they would begin or are cut."""
    stop_by: float | None = None
    """Unix time at which a cancelled run ends, whatever it still does; None while it is not."""
    notices: dict[str, Telling] = field(default_factory=dict[str, Telling])
    """`{id: what is on its way to people}`."""
    signals: dict[str, list[JsonValue]] = field(default_factory=dict[str, list[JsonValue]])
    """Payloads of named signals that nobody has waited for yet."""
    doing: dict[str, float] = field(default_factory=dict[str, float])
    """`{step: Unix time of its begin}` of the steps in progress, outermost first."""
    trail: list[Noted] = field(default_factory=list[Noted])
    """The latest entries; all of them can be told from history."""
    trail_length: int = 0
    trail_digest: str = ""

    @property
    def main(self) -> Track:
        """The run's own track."""
        return self.tracks[MAIN]

    @property
    def tokens(self) -> int:
        """Tokens in and out, over the whole run."""
        return self.usage.input_tokens + self.usage.output_tokens

    def note(self, entry: Noted, fingerprint: str = "") -> None:
        """Add to the trail; the digest chains what was decided, not when."""
        self.trail_length += 1
        self.trail.append(entry)
        if len(self.trail) > 2 * _TRAIL_KEPT:
            del self.trail[:_TRAIL_KEPT]
        line = (
            f"{self.trail_digest}|{entry.kind}|{entry.team}|{entry.visit}|{entry.step}|"
            f"{entry.status}|{entry.because}|{entry.next_team}|{fingerprint}"
        )
        self.trail_digest = sha256(
            line.encode("utf-8", "surrogatepass"), usedforsecurity=False
        ).hexdigest()[:16]

    def carried(self) -> Json:
        """What a run takes along when it continues as new; of the trail, the latest entries."""
        kept = replace(self, trail=self.trail[-_TRAIL_CARRIED:])
        return cast("Json", _STATE.dump_python(kept, mode="json", exclude_defaults=True))

    @classmethod
    def resumed(cls, carried: Json) -> "RunState":
        """The state that `carried` gave.

        Raises:
            ValidationError: it is none.
        """
        return _STATE.validate_python(carried)

    def become(self, other: "RunState") -> None:
        """Remember what another state does, in this one's place: whoever has it sees that."""
        for one in fields(RunState):
            setattr(self, one.name, getattr(other, one.name))

    def forget(self, key: str) -> None:
        """Drop the places of everything at and below a key: it was left in the middle.

        Only of that key: `main:a#1/code` says nothing of `main:a#1/code_review`.
        """
        self.frames.pop(key, None)
        for kept in (self.frames, self.blocks, self.tracks):
            if not kept:
                continue
            for place in [place for place in kept if _within(key, place)]:
                del kept[place]

    def decide(self, decision: Decision) -> None:
        """Keep a decision; of very many, the latest: the trail tells them all."""
        decisions = self.decisions
        decisions[decision.id] = decision
        while len(decisions) > MOST_DECISIONS:
            del decisions[next(iter(decisions))]

    def executed(self, key: str) -> int:
        """Count one more execution of a step; the how-manieth this is, from 1."""
        count = self.executions.get(key, 0) + 1
        self.executions[key] = count
        return count


_STATE = TypeAdapter(RunState)
