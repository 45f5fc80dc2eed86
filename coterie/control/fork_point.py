"""Find the point of a recorded run from which another one continues, by replaying its history.

No history contains the state at that point; the interpreter has it in memory there.
So the interpreter replays the history up to that point. A run that continued as new is searched
part by part, the latest first.
"""

from collections import deque
from dataclasses import dataclass, field, fields, replace

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHistory

from coterie.failures import CommandError
from coterie.replay.observer import ReplayObserver, observed
from coterie.runs.previous_histories import PreviousHistory, begun_with, previous_history
from coterie.runs.run_client import Run
from dsl.errors import listed
from dsl.evaluate.routing import failed_task
from dsl.model.outcomes import Failure, Outcome
from dsl.model.plan import Plan
from dsl.model.traversal.step_paths import within_rounds, without_rounds
from dsl.values import Json
from workflows.core.causes.step_causes import Failed
from workflows.core.memory import TrailRecord
from workflows.core.state import RunState
from workflows.core.state_keys import MAIN, StepKey
from workflows.sessions.message_queue import next_number
from workflows.team import TeamWorkflow

_MAX_FAILURES = 50
_UNFINISHED = ("LimitExceeded", "RunRefused", "InvalidPlan")
"""Failures that repeat from the same point, whatever is changed."""


@dataclass(frozen=True, slots=True)
class ForkPoint:
    """Where another run may continue."""

    plan: Plan
    carried: Json
    """The state at that point."""
    at: str
    """`review#2`; or `review#2/check`, inside a visit where a task failed."""


async def point_at(client: Client, run: str, part: str | None, visit: str) -> ForkPoint:
    """Find the start of a visit of an open or finished run.

    Raises:
        CommandError: The visit does not exist, or no run can continue from it.
    """
    known: list[str] = []
    line = await Run(client, run).history(part)
    last: str | None = None
    while True:
        points = await _replayed(line, visit)
        own = _up_to(last, points.visits)
        if points.found is not None and visit in own:
            return points.point(points.found, visit)
        if visit in points.elsewhere and visit in own:
            raise CommandError(
                f"visit {visit} of run {run!r} was in a concurrent branch, or in a team as a "
                f"step; fork at the visit around it: {points.elsewhere[visit]}"
            )
        known = [*own, *known]
        before = await previous_history(client, line)
        if before is None:
            known_visits = listed(set(known))  # a fork's first visit belongs to both runs
            raise CommandError(f"run {run!r} has no visit {visit!r}; it has: {known_visits}")
        line = before.history
        if last is None or last in points.visits:
            last = _forked_at(before)  # else the visit is further back


async def point_at_message(client: Client, run: str, part: str | None, number: int) -> ForkPoint:
    """Find where a session waited for a message, open or finished; the next one counts too.

    Raises:
        CommandError: The session never waited for this message.
    """
    line = await Run(client, run).history(part)
    while True:
        points = await _replayed(line, None, number)
        if points.found is not None:
            return points.point(points.found, points.message_place)
        awaited = points.awaited
        earlier = not awaited or number < awaited[0]
        before = await previous_history(client, line) if earlier else None
        if before is None:
            if not awaited:
                raise CommandError(f"run {run!r} never waited for message {number}")
            raise CommandError(
                f"run {run!r} never waited for message {number}; it has waited for messages 1 to "
                f"{awaited[-1]}"
            )
        line = before.history


def _forked_at(before: PreviousHistory) -> str | None:
    """Return the latest visit of another run that leads to its fork; None within one run."""
    if not before.is_other_run or before.point is None:
        return None
    return StepKey(before.point.at).team or None


def _up_to(last: str | None, visits: list[str]) -> list[str]:
    """Return the visits up to the point of the fork; empty if that point is earlier."""
    if last is None:
        return visits
    return visits[: visits.index(last) + 1] if last in visits else []


async def began_with_a_plan(client: Client, run: str, part: str | None) -> bool:
    """Return whether a run, or the first of those it was forked from, started with a plan."""
    line = await Run(client, run).history(part)
    while (before := await previous_history(client, line)) is not None:
        line = before.history
    return begun_with(line).plan is not None


async def point_of_failure(client: Client, run: str, part: str | None) -> ForkPoint:
    """Find where a run failed: the deepest step that can be resumed, else its visit.

    Raises:
        CommandError: It has not failed, or would only fail again.
    """
    history = await Run(client, run).history(part)
    last = history.events[-1]
    if last.event_type != EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
        raise CommandError(
            f"run {run!r} has not failed; to start another run at one of its visits: "
            f"`coterie fork {run} --at TEAM#VISIT`"
        )
    failure = last.workflow_execution_failed_event_attributes.failure
    kind = failure.application_failure_info.type
    points = await _replayed(history, None)
    if kind in _UNFINISHED or points.plan is None or not points.latest:
        raise CommandError(
            f"run {run!r} ended with {kind or 'a failure'}, and would end so again from there "
            f"({failure.message}); start at an earlier visit: `coterie fork {run} --at TEAM#VISIT`"
        )
    found = points.failed_step()
    if found is not None:
        return points.point(found.carried, f"{found.entry.team}#{found.entry.visit}/{found.path}")
    at, carried = points.latest
    return points.point(carried, at)


@dataclass(frozen=True, slots=True)
class _Failure:
    """A failed step, with a state from which it can be retried."""

    entry: TrailRecord
    carried: Json

    @property
    def path(self) -> str:
        return self.entry.step or ""


@dataclass(slots=True)
class _Points:
    """The points that a replay passes."""

    wanted: str | None
    wanted_message: int | None = None
    """The number of a message, instead of a visit."""
    plan: Plan | None = None
    state: RunState | None = None
    found: Json | None = None
    visits: list[str] = field(default_factory=list[str])
    elsewhere: dict[str, str] = field(default_factory=dict[str, str])
    """`{visit: the main visit before it}`, for visits in concurrent branches."""
    latest: tuple[str, Json] | None = None
    """The latest visit outside concurrent branches, and the state at its start."""
    awaited: list[int] = field(default_factory=list[int])
    """The numbers of the messages that the session waited for."""
    message_place: str = ""
    """`listen#2/next`: where it waited for the wanted one."""
    failures: deque[_Failure] = field(default_factory=lambda: deque(maxlen=_MAX_FAILURES))

    def pass_by(self, state: RunState, entry: TrailRecord) -> None:
        """Inspect an entry that is about to be recorded, before the state includes it."""
        if self.wanted_message is not None:
            return
        if entry.kind == "team":
            self._visit(state, entry)
        elif entry.kind == "step" and entry.status == "failure" and self.wanted is None:
            self.failures.append(_Failure(entry, _carried(state)))

    def wait_at(self, state: RunState, place: str) -> None:
        """Inspect a wait for a message; the state has not taken it yet."""
        number = next_number(state.session)
        self.awaited.append(number)
        if number == self.wanted_message:
            self.found, self.message_place = _carried(state), place

    def _visit(self, state: RunState, entry: TrailRecord) -> None:
        name = f"{entry.team}#{entry.visit}"
        self.visits.append(name)
        main = state.main
        own = len(state.tracks) == 1 and main.team == entry.team and main.visit == 0
        if not own:
            self.elsewhere[name] = self.latest[0] if self.latest else "an earlier visit"
        elif self.wanted in (None, name):
            self.latest = name, _carried(state)
            self.found = self.latest[1] if self.wanted == name else None
        elif self.found is None:
            self.latest = name, {}

    def failed_step(self) -> _Failure | None:
        """Return the failure that ended the run, at the step where it started."""
        state, plan = self.state, self.plan
        team = plan.teams.get(state.main.team or "") if plan and state else None
        if state is None or plan is None or team is None:
            return None
        frame = state.open_frame(MAIN)
        tasks: dict[str, Outcome] = {} if frame is None else frame.tasks
        failed = failed_task(team, tasks)
        found: _Failure | None = None
        for one in reversed(self.failures):
            if (one.entry.team, one.entry.visit) != (team.id, state.main.visit):
                continue
            if found is None:
                found = one if failed is not None and one.path == failed[0] else None
                continue
            if not _came_from(one, found, plan):
                break
            found = one
        return found

    def point(self, carried: Json, at: str) -> ForkPoint:
        """Build the fork point with the plan."""
        if self.plan is None:
            raise CommandError("the run has no plan: it was refused at its start")
        return ForkPoint(self.plan, carried, at)


def _came_from(inner: _Failure, outer: _Failure, plan: Plan) -> bool:
    """Return whether a failure caused the outer one, and the run can resume inside that step."""
    path = f"{inner.entry.team}/{inner.path}"
    failure = _failure(inner)
    return (
        inner.path.startswith(f"{outer.path}/")
        and failure is not None
        and failure is _failure(outer)
        and not within_rounds(plan, without_rounds(path))
    )


def _failure(one: _Failure) -> Failure | None:
    cause = one.entry.cause
    return cause.failure if isinstance(cause, Failed) else None


def _carried(state: RunState) -> Json:
    """Return the state without the messages that nobody has taken: they stay with their run."""
    kept = {one.name: getattr(state, one.name) for one in fields(RunState)}
    received = next_number(state.session) - 1
    kept["session"] = replace(state.session, queue=[], received=received)
    return RunState(**kept).carried()


@dataclass(slots=True)
class _PassedState(RunState):
    """The state of a replayed run that reports each point."""

    points: _Points = field(default_factory=lambda: _Points(None))

    def note(self, entry: TrailRecord, fingerprint: str = "") -> None:
        """Report the entry, then record it."""
        self.points.pass_by(self, entry)
        RunState.note(self, entry, fingerprint)

    def await_message(self, place: str) -> None:
        """Report the wait."""
        self.points.wait_at(self, place)


class _Passing(ReplayObserver):
    def __init__(self, points: _Points) -> None:
        super().__init__()
        self.points = points

    def met(self, run: TeamWorkflow) -> None:
        """Observe the run from its start."""
        known = {one.name: getattr(run.state, one.name) for one in fields(RunState)}
        run.state = self.points.state = _PassedState(**known, points=self.points)


async def _replayed(
    history: WorkflowHistory, wanted: str | None, message: int | None = None
) -> _Points:
    points = _Points(wanted, message)
    observer = _Passing(points)
    failure = await observed(history, observer)
    points.plan = observer.run.plan if observer.run is not None else None
    if failure is not None:
        raise CommandError(
            f"this code cannot follow the history of {history.workflow_id!r}: another version ran "
            "it, or it is another workflow"
        )
    return points
