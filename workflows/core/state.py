"""RunState: all that a run remembers. Queries read it, continue-as-new carries it."""

import json
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import cache, partial
from hashlib import sha256
from typing import Annotated, Any, Final, cast

from pydantic import Field, JsonValue, TypeAdapter

from coterie.activities.contracts import ContextUse, OwnQueue, TokenUsage, VisibilitySettings
from coterie.dsl.egress.met_labels import MetLabels
from coterie.dsl.model.causes import without_values
from coterie.dsl.tool_loop.exchange import ToolResult
from coterie.dsl.values import Json
from coterie.workflows.core.causes.step_causes import WhenAsked
from coterie.workflows.core.causes.trail_because import trail_because
from coterie.workflows.core.causes.trail_causes import TrailCause, without_wording
from coterie.workflows.core.messages import AmendInput, RedirectInput, SkipInput
from coterie.workflows.core.progress.agent_progress import PublishedWork
from coterie.workflows.core.progress.step_progress import StepProgress
from coterie.workflows.core.requests import Decision, Pending
from coterie.workflows.core.state_keys import MAIN, StateKey
from coterie.workflows.core.state_parts import (
    BudgetBalance,
    CachedResult,
    Frame,
    PendingNotification,
    PushReceivers,
    ReadInProgress,
    Session,
    Tally,
    Track,
)
from coterie.workflows.core.views import CollectedFiles, Paused, TrailEntry, TrailKind
from coterie.workflows.signatures.statements import Authority


@dataclass(slots=True)
class TrailRecord:
    """One event of a run, as the state keeps it; people get its TrailEntry."""

    number: int
    at: float
    """Seconds of Unix time."""
    kind: TrailKind
    team: str
    visit: int
    step: str | None = None
    status: str | None = None
    cause: TrailCause | None = None
    next_team: str | None = None
    updated: tuple[str, ...] = ()
    seconds: float | None = None
    tokens: int | None = None
    found: CollectedFiles | None = None
    event: str | None = None
    when: WhenAsked | None = None

    @property
    def because(self) -> str:
        """The cause in words."""
        return trail_because(self.cause)

    def to_entry(self) -> TrailEntry:
        """Return the entry with its time in ISO 8601."""
        at = datetime.fromtimestamp(self.at, UTC).isoformat(timespec="milliseconds")
        return TrailEntry(
            number=self.number,
            at=at,
            kind=self.kind,
            team=self.team,
            visit=self.visit,
            step=self.step,
            status=self.status,
            because=self.because,
            next_team=self.next_team,
            updated=self.updated,
            seconds=self.seconds,
            tokens=self.tokens,
            found=self.found,
            event=self.event,
            ran_because=trail_because(self.when),
            when=self.when,
            cause=without_wording(self.cause),
        )


MAX_DECISIONS = 500
"""Maximum number of decisions of each kind in the state."""

_TRAIL_KEPT = 1000

_TRAIL_CARRIED = 100

_WORDING: Final = {"message": True, "failure": {"message"}}
"""What the digest of the trail does not cover."""


@dataclass(slots=True)
class RunState:
    """All that a run remembers."""

    tracks: dict[str, Track] = field(default_factory=lambda: {MAIN: Track()})
    teams_run: int = 0
    visits: dict[str, int] = field(default_factory=dict[str, int])
    """`{team: starts in this run}`, over all tracks."""
    bounded_visits: dict[str, int] = field(default_factory=dict[str, int])
    """`{team with max_visits: starts since the latest start of the team that it counts per}`."""
    seen: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Context fingerprints by team, if no-progress detection is on."""
    frames: dict[str, Frame] = field(default_factory=dict[str, Frame])
    progress: StepProgress = field(default_factory=StepProgress)
    executions: dict[str, int] = field(default_factory=dict[str, int])
    """Executions of each step in this run, by `team/path`."""
    calls: int = 0
    """Activities so far; the next one's id gets the next number."""
    calls_in_progress: Annotated[dict[str, str], Field(exclude=True)] = field(
        default_factory=dict[str, str]
    )
    """`{id of an activity: its step}`; none is in progress when the run continues as new."""
    model_calls: int = 0
    function_calls: int = 0
    usage: TokenUsage = field(default_factory=TokenUsage)
    queues: dict[str, OwnQueue] = field(default_factory=dict[str, OwnQueue])
    """`{provider: its own queue}`, if a worker has named one."""
    tallies: dict[str, Tally] = field(default_factory=dict[str, Tally])
    """Usage by task, and model or tool function."""
    balances: dict[str, BudgetBalance] = field(default_factory=dict[str, BudgetBalance])
    """Usage of each budget, by its id; budgets that no call has touched are missing."""
    cached_results: dict[str, CachedResult] = field(default_factory=dict[str, CachedResult])
    """`{digest of a call: its result}` of tools with `cache: run`."""
    reads_in_progress: Annotated[dict[str, ReadInProgress], Field(exclude=True)] = field(
        default_factory=dict[str, ReadInProgress]
    )
    """`{digest of a call: the call}` of those tools; none is in progress when the run continues as
    new."""
    published: dict[str, list[PublishedWork]] = field(
        default_factory=dict[str, list[PublishedWork]]
    )
    """`{tool: its work}` that other tools read."""
    labels: MetLabels = field(default_factory=MetLabels)
    """What calls have brought into the run, if a call of its plan could send it out."""
    met_untrusted: bool = False
    """Whether a call has brought text of others, which all that the run writes may repeat."""
    conversation_models: dict[str, str] = field(default_factory=dict[str, str])
    """`{conversation: provider/model}` of those that a fallback has taken over."""
    conversation_sizes: dict[str, ContextUse] = field(default_factory=dict[str, ContextUse])
    """`{conversation: how full it is}` of those whose personas compact them."""
    turn_tokens: Annotated[dict[str, int], Field(exclude=True)] = field(
        default_factory=dict[str, int]
    )
    """`{latest turn of a conversation: its tokens in and out}`, since the run last continued as
    new."""
    user: str | None = None
    """Whose run it is, as it started: nothing that happens in the run changes it."""
    execution: str = ""
    """Temporal's id of the execution in which the run began (`original_execution_run_id`). A reset
    keeps it, and the run carries it along when it continues as new; a fork has its own."""
    authority: Authority | None = None
    """What the run demands of decisions; None: they need no signature."""
    used_proofs: dict[str, float] = field(default_factory=dict[str, float])
    """`{digest of a signed statement: Unix time until which it could be sent again}`."""
    hooks_asked: bool = False
    """Whether the plan's `before_run` hooks have let the run begin."""
    visibility: VisibilitySettings | None = None
    """The visibility settings of the run."""
    version: str | None = None
    """The deployed version that it was started from."""
    pending: dict[str, Pending] = field(default_factory=dict[str, Pending])
    decisions: dict[str, Decision] = field(default_factory=dict[str, Decision])
    unread: list[str] = field(default_factory=list[str])
    """Ids of decisions that the asking steps have yet to read."""
    paused: Paused | None = None
    amendments: list[AmendInput] = field(default_factory=list[AmendInput])
    """Changes to the context that apply before the next step or route."""
    redirect: RedirectInput | None = None
    """The team after the current one, if a person redirected the run."""
    remembered: dict[str, Decision] = field(default_factory=dict[str, Decision])
    """Approvals that answer equal requests: `{team/step digest: the decision}`."""
    conversations: dict[str, str] = field(default_factory=dict[str, str])
    """`{conversation: the name of its latest turn}`."""
    unsent_results: dict[str, list[ToolResult]] = field(default_factory=dict[str, list[ToolResult]])
    """`{conversation: results of its latest turn, which its next turn sends}`."""
    talking: list[str] = field(default_factory=list[str])
    """Conversations in which an agent has its turn now."""
    skips: dict[str, SkipInput] = field(default_factory=dict[str, SkipInput])
    """`team/path` of the tasks that people skip, until they would start or their call ends."""
    stop_by: float | None = None
    """Unix time at which a cancelled run ends at the latest; None if it is not cancelled."""
    notifications: dict[str, PendingNotification] = field(
        default_factory=dict[str, PendingNotification]
    )
    """`{id: a notification in delivery}`."""
    push: PushReceivers = field(default_factory=PushReceivers)
    signals: dict[str, list[JsonValue]] = field(default_factory=dict[str, list[JsonValue]])
    """Payloads of named signals for which no step has waited yet."""
    session: Session = field(default_factory=Session)
    origins: list[str] = field(default_factory=list[str])
    """The runs that this one was forked from, latest first."""
    doing: dict[str, float] = field(default_factory=dict[str, float])
    """`{step: Unix time of its start}` of the steps in progress, outermost first."""
    trail: list[TrailRecord] = field(default_factory=list[TrailRecord])
    """The latest entries; the history has all."""
    trail_length: int = 0
    trail_digest: str = ""

    @property
    def main(self) -> Track:
        """The run's own track."""
        return self.tracks[MAIN]

    def note(self, entry: TrailRecord, fingerprint: str = "") -> None:
        """Add to the trail; the digest chains the facts, without times and wording."""
        self.trail_length += 1
        self.trail.append(entry)
        if len(self.trail) > 2 * _TRAIL_KEPT:
            del self.trail[:_TRAIL_KEPT]
        line = (
            f"{self.trail_digest}|{entry.kind}|{entry.team}|{entry.visit}|{entry.step}|"
            f"{entry.status}|{entry.next_team}|{fingerprint}|"
        )
        covered = line.encode("utf-8", "surrogatepass")
        if entry.kind != "team":  # which has the cause of what led there
            covered += cause_facts(entry.cause) + cause_facts(entry.when)
        self.trail_digest = sha256(covered, usedforsecurity=False).hexdigest()[:16]

    def await_message(self, step: str) -> None:
        """Mark that the run waits for its next message in a step.

        Does nothing here. The state of a replay overrides it, to find the point of a fork.
        """

    def carried(self) -> Json:
        """Return what a run takes along as it continues as new; of the trail, the latest."""
        frames = {key: frame.carried() for key, frame in self.frames.items()}
        state = replace(self, trail=self.trail[-_TRAIL_CARRIED:], frames=frames)
        return cast("Json", state_adapter().dump_python(state, mode="json", exclude_defaults=True))

    def values(self) -> Iterator[JsonValue]:
        """Yield what grows with a run's data: contexts, variables, outcomes, lists of loops."""
        for track in self.tracks.values():
            yield track.context
            for outcomes in track.latest.values():
                yield from (outcome.data for outcome in outcomes.values())
        for frame in self.frames.values():
            yield frame.input
            yield from frame.carried().variables.values()
            yield from (outcome.data for outcome in frame.tasks.values())
        yield from self.progress.values()
        yield from (message.value for message in self.session.queue)
        yield from (reply.value for reply in self.session.replies.values())

    @classmethod
    def resumed(cls, carried: Json) -> "RunState":
        """Restore the state that `carried` gave.

        Raises:
            ValidationError: it is not a valid state.
        """
        return state_adapter().validate_python(carried)

    def become(self, other: "RunState") -> None:
        """Take over another state in place, for every holder of this one."""
        for attribute in fields(RunState):
            setattr(self, attribute.name, getattr(other, attribute.name))

    def open_frame(self, track: str) -> Frame | None:
        """Return the frame of a track's current visit; None between two visits."""
        here = self.tracks[track]
        return self.frames.get(StateKey.visit(track, here.team, here.visit))

    def forget(self, key: StateKey) -> None:
        """Drop everything at and below a key: it has ended, or the run has left it."""
        for mapping in self._kept_mappings():
            for entry_key in [
                entry_key
                for entry_key in mapping
                if entry_key.startswith(key) and key.holds(entry_key)
            ]:
                del mapping[entry_key]

    def forget_steps(self, location: StateKey, names: Set[str]) -> None:
        """Drop everything within the named steps, branches or rounds at a location, in one pass."""
        for mapping in self._kept_mappings():
            for entry_key in [
                entry_key for entry_key in mapping if location.within_steps(names, entry_key)
            ]:
                del mapping[entry_key]

    def forget_branches(self, track: StateKey, names: Set[str]) -> None:
        """Drop everything within the named fan-out branches of a track, in one pass."""
        for mapping in self._kept_mappings():
            for entry_key in [
                entry_key for entry_key in mapping if track.within_fan_out(names, entry_key)
            ]:
                del mapping[entry_key]

    def _kept_mappings(self) -> Iterator[dict[str, Any]]:
        """Yield the mappings whose keys are StateKeys."""
        return filter(None, (self.frames, self.tracks, *self.progress.kinds()))

    def decide(self, decision: Decision, *, awaited: bool = True) -> None:
        """Keep a decision, and drop old ones beyond the maximum: the trail has all.

        One that a step waits for (`awaited`) stays at least until the step has read it.
        """
        self.decisions[decision.id] = decision
        if awaited:
            self.unread.append(decision.id)
        self._forget_old()

    def mark_read(self, id: str) -> None:
        """Note that no step waits for this decision any longer."""
        if id in self.unread:
            self.unread.remove(id)
            self._forget_old()

    def _forget_old(self) -> None:
        too_many = len(self.decisions) - MAX_DECISIONS
        if too_many > 0:
            waited_for = set(self.unread)
            read_ids = [id for id in self.decisions if id not in waited_for]
            for id in read_ids[:too_many]:
                del self.decisions[id]

    def forget_reads(self) -> None:
        """Forget what calls have read, and are reading: a call has an effect."""
        self.cached_results.clear()
        self.reads_in_progress.clear()

    def executed(self, key: str) -> int:
        """Count one more execution of a step; return its number, from 1."""
        count = self.executions.get(key, 0) + 1
        self.executions[key] = count
        return count


@cache
def state_adapter() -> TypeAdapter[RunState]:
    """Return what reads and writes a state as JSON; a worker builds it when it starts."""
    return TypeAdapter(RunState)


def cause_facts(cause: TrailCause | None) -> bytes:
    """Return the facts of a cause as JSON: equal facts give equal bytes.

    Without wording, and without the values of expressions, which may be ids and times.
    """
    if cause is None:
        return b""
    if (condition := getattr(cause, "condition", None)) is not None:
        shown_cause = replace(cast("Any", cause), condition=without_values(condition))
        cause = cast("TrailCause", shown_cause)
    try:
        return _json_of(type(cause))(cause)
    except ValueError:  # half of a surrogate pair: only escaped JSON holds it
        kind = TypeAdapter(type(cause))
        facts = kind.dump_python(cause, exclude=_WORDING, exclude_defaults=True)
        return json.dumps(facts).encode()


@cache
def _json_of(kind: type[TrailCause]) -> Callable[[TrailCause], bytes]:
    """Return the serializer of one type of cause: that of the union would try each type in turn."""
    named = {attribute.name for attribute in fields(kind)}
    wording = {key: part for key, part in _WORDING.items() if key in named}
    write = TypeAdapter(kind).serializer.to_json
    return partial(write, exclude=wording or None, exclude_defaults=True)
