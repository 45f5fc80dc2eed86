"""Rebuild a run's plan, trail and state from its history alone, without a worker.

The interpreter replays the history with the recorded results. If this code decides differently from
the code that ran (another version), nothing can be rebuilt.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple

from temporalio import workflow
from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.client import Client, WorkflowHistory

from coterie.dsl.errors import TeamError
from coterie.dsl.evaluate.context import differences
from coterie.dsl.evaluate.evidence import alternatives, examine, rules
from coterie.dsl.evaluate.routing import choose
from coterie.dsl.model.facts import Facts
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Plan, Team
from coterie.dsl.model.steps import BranchStep, Step
from coterie.dsl.model.traversal.step_walk import walk
from coterie.dsl.values import Json
from coterie.dsl.visible import one_line
from coterie.replay.observed_replay import ReceivedMessage, ReplayObserver, is_the_last, observed
from coterie.replay.trace_events import TraceEvent, Visit
from coterie.runs.histories.history_events import started
from coterie.runs.run_client import Run
from coterie.workflows.core.progress.progress_kinds import TaskGraphProgress
from coterie.workflows.core.requests import RequestView
from coterie.workflows.core.state import RunState, TrailRecord
from coterie.workflows.core.state_keys import MAIN, StateKey
from coterie.workflows.core.state_parts import Frame, Routed, Track
from coterie.workflows.core.views import CostReport, RunStatus, TrailEntry
from coterie.workflows.handlers.query_handlers import request
from coterie.workflows.team import TeamWorkflow


class _Before(NamedTuple):
    """A track's state at the previous trail entry."""

    track: Track
    frame: Frame | None
    team: str
    visit: int
    context: Json
    routed: Routed
    latest: dict[str, dict[str, Outcome]]


@dataclass(slots=True)
class DecisionObserver:
    """Records what a run decides, entry by entry of its trail."""

    run: str
    plan: Callable[[], Plan | None]
    trail: list[TrailEntry] = field(default_factory=list[TrailEntry])
    visits: dict[tuple[str, int], Visit] = field(default_factory=dict[tuple[str, int], Visit])
    graphs: dict[str, TaskGraphProgress] = field(default_factory=dict[str, TaskGraphProgress])
    """`{step: its latest task graph}`; one that has ended stays as it ended."""
    _before: dict[str, _Before] = field(default_factory=dict[str, _Before])
    _between: list[TraceEvent] = field(default_factory=list[TraceEvent])
    """Events between two visits, such as a join; reported with the next visit."""

    def see(self, state: RunState) -> None:
        """Store the position of every track."""
        for name, track in state.tracks.items():
            frame = state.open_frame(name)
            self._before[name] = _Before(
                track,
                frame,
                track.team or "",
                track.visit,
                track.context,
                track.routed,
                dict(track.latest),
            )

    def note(self, state: RunState, noted: TrailRecord) -> None:
        """Record an entry, with the facts that it was decided on."""
        entry = noted.to_entry()
        self.trail.append(entry)
        for key, graph in state.progress.task_graphs.items():
            self.graphs[StateKey(key).step] = graph
        plan = self.plan()
        if plan is not None:
            for name in [name for name in self._before if name not in state.tracks]:
                self._record_stopped_branch(self._before.pop(name), entry, state, plan)
            if entry.kind == "route":
                self._record_route(entry, state, plan)
            else:
                self._record_event(entry, state, plan)
        self.see(state)

    def _record_event(self, entry: TrailEntry, state: RunState, plan: Plan) -> None:
        if entry.visit == 0:
            self._between.append(self._looked_at(entry, state, plan))
            return
        visit = self.visits.get((entry.team, entry.visit)) or Visit(entry.team, entry.visit)
        if entry.kind == "team":
            visit = replace(
                visit, began=entry.at, came_because=entry.because, happened=tuple(self._between)
            )
            self._between.clear()
        else:
            events = (*visit.happened, self._looked_at(entry, state, plan))
            visit = replace(visit, happened=events)
            if entry.kind == "control" and entry.status == "failed":  # of a cancelled run
                visit = replace(visit, ended=entry.at, status="stopped", because=entry.because)
        self.visits[entry.team, entry.visit] = visit

    def _looked_at(self, entry: TrailEntry, state: RunState, plan: Plan) -> TraceEvent:
        """Return an entry with what was evaluated for it."""
        if entry.kind == "control" and MAIN in self._before:
            before = self._before[MAIN].context
            return TraceEvent(entry, changes=differences(before, state.main.context))
        step = _step(plan, entry)
        facts = None if step is None else self._inner_facts(entry, state, plan)
        if step is None or facts is None:
            return TraceEvent(entry)
        if entry.status == "chosen" and isinstance(step, BranchStep):
            return TraceEvent(entry, alternatives=alternatives(step, facts))
        is_unmet = entry.cause is not None and entry.cause.code == "when_did_not_hold"
        if entry.status == "skipped" and is_unmet and step.when:
            return TraceEvent(entry, when=examine(step.when, facts))
        return TraceEvent(entry)

    def _record_route(self, entry: TrailEntry, state: RunState, plan: Plan) -> None:
        """Record the route taken, or the error that ended the run.

        If all branches of a fan-out are left, its visit already has its route.
        """
        known_visit = self.visits.get((entry.team, entry.visit))
        if known_visit is not None and known_visit.ended is not None and entry.status == "success":
            self._between.append(TraceEvent(entry))
            return
        name = next((n for n in state.tracks if _frame_key(n, entry) in state.frames), None)
        before = self._before.get(name or "")
        team = plan.teams.get(entry.team)
        so_far = self.visits.get((entry.team, entry.visit)) or Visit(entry.team, entry.visit)
        visit = replace(
            so_far,
            ended=entry.at,
            status=entry.status,
            because=entry.because,
            next_team=entry.next_team,
        )
        if name is not None and before is not None and team is not None:
            track, frame = state.tracks[name], state.frames[_frame_key(name, entry)]
            has_moved = entry.status in ("success", "failure")
            if all(step.name in frame.tasks for step in team.steps) and not (
                has_moved and track.routed.reason == "redirected"
            ):
                facts = _facts(self.run, plan, before, frame, team.id, entry.visit, state)
                visit = _with_rules(visit, team, facts)
            visit = replace(visit, changes=differences(before.context, track.context))
        self.visits[entry.team, entry.visit] = visit

    def _record_stopped_branch(
        self, before: _Before, entry: TrailEntry, state: RunState, plan: Plan
    ) -> None:
        """Record a branch that ended inside a visit: it was stopped, or no route led on.

        The trail has no entry for this.
        """
        frame, team = before.frame, plan.teams.get(before.team)
        if team is None or frame is None or before.visit == 0:
            return
        so_far = self.visits.get((team.id, before.visit)) or Visit(team.id, before.visit)
        cause = self._led_away(state)
        visit = replace(so_far, ended=entry.at, status="stopped", because=cause)
        if all(step.name in frame.tasks for step in team.steps):
            facts = _facts(self.run, plan, before, frame, team.id, before.visit, state)
            try:
                choose(team, facts)
            except TeamError as error:
                status, because = type(error).__name__, str(error)
                visit = replace(_with_rules(visit, team, facts), status=status, because=because)
        self.visits[team.id, before.visit] = visit

    def _led_away(self, state: RunState) -> str:
        """Return why the whole run was redirected, if the latest route did that."""
        route = state.main.routed
        if route.reason != "redirected":
            return ""
        latest = [entry.cause for entry in self.trail[-2:] if entry.kind == "route"]
        return route.because if route.cause in latest else ""

    def _inner_facts(self, entry: TrailEntry, state: RunState, plan: Plan) -> Facts | None:
        """Return the facts of the entry's step, in its plan or branch if it is in one."""
        name = next((n for n in state.tracks if _frame_key(n, entry) in state.frames), None)
        before = self._before.get(name or "")
        if name is None or before is None:
            return None
        root = _frame_key(name, entry)
        location = f"{root}/{entry.step}"
        frames = [
            (len(key), frame)
            for key, frame in state.frames.items()
            if StateKey(key).frame_serves(location)
        ]
        _, frame = max(frames, key=lambda pair: pair[0])
        return _facts(self.run, plan, before, frame, entry.team, entry.visit, state)


@dataclass(slots=True)
class ObservedState(RunState):
    """The state of a replayed run, with an observer for every entry."""

    observer: DecisionObserver = field(default_factory=lambda: DecisionObserver("", lambda: None))

    @classmethod
    def of(cls, state: RunState, observer: DecisionObserver) -> "ObservedState":
        """Return the same state with an observer."""
        observer.trail += [entry.to_entry() for entry in state.trail]
        observer.see(state)
        values = {
            state_field.name: getattr(state, state_field.name) for state_field in fields(RunState)
        }
        return cls(**values, observer=observer)

    def note(self, entry: TrailRecord, fingerprint: str = "") -> None:
        """Add to the trail, and have it taken down."""
        RunState.note(self, entry, fingerprint)
        self.observer.note(self, entry)


def _frame_key(track: str, entry: TrailEntry) -> StateKey:
    return StateKey.visit(track, entry.team, entry.visit)


def _facts(
    run: str, plan: Plan, before: _Before, frame: Frame, team: str, visit: int, state: RunState
) -> Facts:
    """Return the facts of the team's rules (like `Place.facts`)."""
    return Facts(
        context=before.context,
        tasks=frame.tasks,
        teams=before.latest,
        run={
            "id": run,
            "plan": plan.name,
            "digest": plan.digest,
            "team": team,
            "visit": visit,
            "teams_run": state.teams_run,
        },
        routing=before.routed.seen(),
        variables=frame.variables,
        input=frame.input,
        budget=plan.evaluation,
        settings=plan.settings,
        tools=plan.listed_tools,
    )


def _with_rules(visit: Visit, team: Team, facts: Facts) -> Visit:
    default = team.routing.default if team.routing is not None else None
    return replace(visit, rules=rules(team, facts), default=default)


def _step(plan: Plan, entry: TrailEntry) -> Step | None:
    """Return the step of an entry, if its name is unique in team and plans; else None."""
    name = (entry.step or "").rpartition("/")[2]
    matches = [step for step in _steps(plan, entry.team) if step.name == name]
    return matches[0] if len(matches) == 1 else None


def _steps(plan: Plan, team: str) -> Iterator[Step]:
    own = [plan.teams[team].steps] if team in plan.teams else []
    for steps in (*own, *(persona.execution_plan or () for persona in plan.personas.values())):
        yield from (step for step, _ in walk(steps, ()))


MAX_CAUSE = 300
"""Maximum characters of a replay's message."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A run as its own workflow knows it."""

    plan: Plan
    trail: tuple[TrailEntry, ...]
    """All entries, including those from before continue-as-new."""
    status: RunStatus
    visits: Mapping[tuple[str, int], Visit]
    """`{(team, visit): its decisions}`."""
    cost: CostReport
    requests: Mapping[str, RequestView]
    """`{id: the request, pending or decided}`."""
    graphs: Mapping[str, TaskGraphProgress]
    """`{step: its latest task graph, in progress or ended}`."""
    open_graphs: frozenset[str]
    """The steps of those in progress."""
    received: tuple[ReceivedMessage, ...]
    """Messages from people within this history."""
    context: Json
    """The context now."""
    snapshot: Json | None = None
    """The whole state, as the run carries it along when it continues as new; only on demand."""


@dataclass(frozen=True, slots=True)
class NotFollowed:
    """Why this code cannot follow a history."""

    cause: str
    """The replay's own message, on one line."""
    has_begun: bool = True
    """Whether a worker has begun the run: else there is nothing to follow yet."""


async def rebuilt(history: WorkflowHistory, *, snapshot: bool = False) -> Rebuilt | NotFollowed:
    """Return the run behind a history, or why this code cannot follow it.

    Args:
        history: Of one part of the run.
        snapshot: Whether to return its whole state, too.
    """
    observer = _StateReader(snapshot=snapshot)
    failure = await observed(history, observer)
    if failure is not None:
        return NotFollowed(one_line(f"{type(failure).__name__}: {failure}")[:MAX_CAUSE])
    return observer.seen or NotFollowed("it has no plan yet", has_begun=False)


def _requests(state: RunState) -> dict[str, RequestView]:
    return {id: request(state, id) for id in (*state.decisions, *state.pending)}


def _open_graphs(state: RunState) -> dict[str, TaskGraphProgress]:
    return {StateKey(key).step: graph for key, graph in state.progress.task_graphs.items()}


class _StateReader(ReplayObserver):
    """Reads the state of the replayed workflow before it is evicted."""

    def __init__(self, *, snapshot: bool) -> None:
        super().__init__()
        self._takes_snapshot = snapshot
        self.seen: Rebuilt | None = None
        self._observer: DecisionObserver | None = None
        self._received: list[ReceivedMessage] = []

    def run_started(self, run: TeamWorkflow) -> None:
        """Observe every entry of the run from its start."""
        self._observer = DecisionObserver(workflow.info().workflow_id, lambda: run.plan)
        run.state = ObservedState.of(run.state, self._observer)

    def received(self, message: ReceivedMessage) -> None:
        """Record the message."""
        self._received.append(message)

    def before(self, act: WorkflowActivation) -> None:
        """Read the state before eviction."""
        run, observer = self.run, self._observer
        if not is_the_last(act) or run is None or observer is None or run.plan is None:
            return
        self.seen = Rebuilt(
            run.plan,
            tuple(observer.trail),
            run.status(),
            observer.visits,
            run.cost(),
            _requests(run.state),
            {**observer.graphs, **_open_graphs(run.state)},
            frozenset(_open_graphs(run.state)),
            tuple(self._received),
            run.state.main.context,
            run.state.carried() if self._takes_snapshot else None,
        )


async def earlier_parts(client: Client, history: WorkflowHistory) -> AsyncIterator[Rebuilt]:
    """Yield the parts before continue-as-new, latest first, as far as this code can follow them."""
    while earlier := started(history).previous:
        history = await Run(client, history.workflow_id).history(earlier)
        part = await rebuilt(history)
        if isinstance(part, NotFollowed):
            return
        yield part


def joined_trails(*parts: Iterable[TrailEntry]) -> list[TrailEntry]:
    """Join overlapping trails into one."""
    by_number = {entry.number: entry for part in parts for entry in part}
    return [by_number[number] for number in sorted(by_number)]
