"""Find the point of a recorded run from which another one continues, by replaying its history.

No history contains the state at that point; the interpreter has it in memory there.
So the interpreter replays the history up to that point. A run that continued as new is searched
part by part, the latest first.
"""

from collections import deque
from dataclasses import dataclass, field, fields, replace
from shlex import join
from typing import NamedTuple

from temporalio.client import Client, WorkflowHistory

from coterie.dsl.errors import listed
from coterie.dsl.evaluate.routing import failed_task
from coterie.dsl.model.outcomes import Failure, Outcome
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.traversal.step_paths import within_rounds, without_rounds
from coterie.dsl.values import Json
from coterie.failures import CommandError
from coterie.replay.observed_replay import ReplayObserver, observed
from coterie.runs.histories.history_events import closed, started
from coterie.runs.histories.history_links import PreviousHistory, previous_history
from coterie.runs.run_client import Run
from coterie.workflows.core.causes.step_causes import Failed
from coterie.workflows.core.state import RunState, TrailRecord
from coterie.workflows.core.state_keys import MAIN, StepKey
from coterie.workflows.core.state_parts import Session
from coterie.workflows.sessions.message_queue import next_number
from coterie.workflows.team import TeamWorkflow

_MAX_FAILURES = 50


@dataclass(frozen=True, slots=True)
class ForkPoint:
    """Where another run may continue."""

    plan: Plan
    carried: Json
    """The state at that point."""
    at: str
    """`review#2`; or `review#2/check`, inside a visit where a task failed."""


@dataclass(frozen=True, slots=True)
class PassedFailure:
    """A failed step, with a state from which it can be retried."""

    entry: TrailRecord
    carried: Json

    @property
    def path(self) -> str:
        """Return the path of the step below its team."""
        return self.entry.step or ""


@dataclass(slots=True)
class PassedPoints:
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
    message_step: str = ""
    """`listen#2/next`: where it waited for the wanted one."""
    failures: deque[PassedFailure] = field(default_factory=lambda: deque(maxlen=_MAX_FAILURES))
    run: str = ""
    """The run whose history it is."""

    def pass_by(self, state: RunState, entry: TrailRecord) -> None:
        """Inspect an entry that is about to be recorded, before the state includes it."""
        if self.wanted_message is not None:
            return
        if entry.kind == "team":
            self._visit(state, entry)
        elif entry.kind == "step" and entry.status == "failure" and self.wanted is None:
            self.failures.append(PassedFailure(entry, _state_to_carry(state)))

    def wait_in(self, state: RunState, step: str) -> None:
        """Inspect a wait for a message; the state has not taken it yet."""
        number = next_number(state.session)
        self.awaited.append(number)
        if number == self.wanted_message:
            self.found, self.message_step = _state_to_carry(state), step

    def _visit(self, state: RunState, entry: TrailRecord) -> None:
        name = f"{entry.team}#{entry.visit}"
        self.visits.append(name)
        main = state.main
        own = len(state.tracks) == 1 and main.team == entry.team and main.visit == 0
        if not own:
            self.elsewhere[name] = self.latest[0] if self.latest else "an earlier visit"
        elif self.wanted in (None, name):
            self.latest = name, _state_to_carry(state)
            self.found = self.latest[1] if self.wanted == name else None
        elif self.found is None:
            self.latest = name, {}

    def failed_step(self) -> PassedFailure | None:
        """Return the failure that ended the run, at the step where it started."""
        state, plan = self.state, self.plan
        team = plan.teams.get(state.main.team or "") if plan and state else None
        if state is None or plan is None or team is None:
            return None
        frame = state.open_frame(MAIN)
        tasks: dict[str, Outcome] = {} if frame is None else frame.tasks
        failing_task = failed_task(team, tasks)
        root_failure: PassedFailure | None = None
        for failure in reversed(self.failures):
            if (failure.entry.team, failure.entry.visit) != (team.id, state.main.visit):
                continue
            if root_failure is None:
                root_failure = (
                    failure
                    if failing_task is not None and failure.path == failing_task[0]
                    else None
                )
                continue
            if not _came_from(failure, root_failure, plan):
                break
            root_failure = failure
        return root_failure

    def point(self, carried: Json, at: str) -> ForkPoint:
        """Build the fork point with the plan."""
        if self.plan is None:
            raise CommandError("the run has no plan: it was refused at its start")
        earlier = carried.get("origins")
        origins = [self.run, *(earlier if isinstance(earlier, list) else ())]
        return ForkPoint(self.plan, {**carried, "origins": origins}, at)


def _came_from(inner: PassedFailure, outer: PassedFailure, plan: Plan) -> bool:
    """Return whether a failure caused the outer one, and the run can resume inside that step."""
    path = f"{inner.entry.team}/{inner.path}"
    failure = _failure(inner)
    return (
        inner.path.startswith(f"{outer.path}/")
        and failure is not None
        and failure is _failure(outer)
        and not within_rounds(plan, without_rounds(path))
    )


def _failure(failure: PassedFailure) -> Failure | None:
    cause = failure.entry.cause
    return cause.failure if isinstance(cause, Failed) else None


def _state_to_carry(state: RunState) -> Json:
    """Return the state without the messages that nobody has taken: they stay with their run."""
    values = {
        state_field.name: getattr(state, state_field.name) for state_field in fields(RunState)
    }
    received_count = next_number(state.session) - 1
    values["session"] = _session_to_carry(replace(state.session, queue=[], received=received_count))
    return RunState(**values).carried()


def _session_to_carry(session: Session) -> Session:
    """Return the session without joined messages that no agent has read."""
    if session.open is None or not session.open.joined:
        return session
    read = [message for message in session.open.joined if message.is_read]
    left = len(session.open.joined) - len(read)
    open_message = replace(session.open, joined=read)
    return replace(session, open=open_message, joined=session.joined - left)


@dataclass(slots=True)
class _PassedState(RunState):
    """The state of a replayed run that reports each point."""

    points: PassedPoints = field(default_factory=lambda: PassedPoints(None))

    def note(self, entry: TrailRecord, fingerprint: str = "") -> None:
        """Report the entry, then record it."""
        self.points.pass_by(self, entry)
        RunState.note(self, entry, fingerprint)

    def await_message(self, step: str) -> None:
        """Report the wait."""
        self.points.wait_in(self, step)


class _Passing(ReplayObserver):
    def __init__(self, points: PassedPoints) -> None:
        super().__init__()
        self.points = points

    def run_started(self, run: TeamWorkflow) -> None:
        """Observe the run from its start."""
        values = {
            state_field.name: getattr(run.state, state_field.name)
            for state_field in fields(RunState)
        }
        run.state = self.points.state = _PassedState(**values, points=self.points)


async def passed_points(
    history: WorkflowHistory, wanted: str | None, message: int | None = None
) -> PassedPoints:
    """Replay a history and return the points that it passed.

    Args:
        history: One part of a run.
        wanted: The visit to look for; None looks for none.
        message: The number of the message to look for instead.

    Raises:
        CommandError: This code cannot replay the history.
    """
    points = PassedPoints(wanted, message, run=history.workflow_id)
    observer = _Passing(points)
    failure = await observed(history, observer)
    points.plan = observer.run.plan if observer.run is not None else None
    if failure is not None:
        raise CommandError(
            f"this code cannot follow the history of {history.workflow_id!r}: another version ran "
            "it, or it is another workflow"
        )
    return points


_UNFINISHED = ("LimitExceeded", "RunRefused", "InvalidPlan")
"""Failures that repeat from the same point, whatever is changed."""


async def point_at(client: Client, run: str, part: str | None, visit: str) -> ForkPoint:
    """Find the start of a visit of an open or finished run.

    Raises:
        CommandError: The visit does not exist, or no run can continue from it.
    """
    visits: list[str] = []
    line = await Run(client, run).history(part)
    last: str | None = None
    while True:
        points = await passed_points(line, visit)
        own = _up_to(last, points.visits)
        if points.found is not None and visit in own:
            return points.point(points.found, visit)
        if visit in points.elsewhere and visit in own:
            raise CommandError(
                f"visit {visit} of run {run!r} was in a concurrent branch, or in a team as a "
                f"step; fork at the visit around it: {points.elsewhere[visit]}"
            )
        visits = [*own, *visits]
        before = await previous_history(client, line)
        if before is None:
            known_visits = listed(set(visits))  # a fork's first visit belongs to both runs
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
    last = 0
    while True:
        points = await passed_points(line, None, number)
        if points.found is not None:
            return points.point(points.found, points.message_step)
        numbers = points.awaited
        last = max((last, *numbers))
        earlier = not numbers or number < numbers[0]
        before = await previous_history(client, line) if earlier else None
        if before is None:
            if not last:
                raise CommandError(f"run {run!r} never waited for message {number}")
            raise CommandError(
                f"run {run!r} never waited for message {number}; it has waited for messages 1 to "
                f"{last}"
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


class ForkOrigin(NamedTuple):
    """The run in which a chain of forks began."""

    run: str
    plan: Plan | None
    """The plan that it brought; None if a worker compiled it."""


async def first_of(client: Client, run: str, part: str | None) -> ForkOrigin:
    """Return the run itself, or the first of those that it was forked from."""
    line = await Run(client, run).history(part)
    while (before := await previous_history(client, line)) is not None:
        line = before.history
    return ForkOrigin(line.workflow_id, started(line).input.plan)


async def point_of_failure(client: Client, run: str, part: str | None) -> ForkPoint:
    """Find where a run failed: the deepest step that can be resumed, else its visit.

    Raises:
        CommandError: It has not failed, or would only fail again.
    """
    history = await Run(client, run).history(part)
    end = closed(history)
    if end is None or end.failure is None:
        raise CommandError(
            f"run {run!r} has not failed; to start another run at one of its visits: "
            f"{await fork_hint(client, run, part)}"
        )
    kind = end.failure.type
    point = None if kind in _UNFINISHED else await _latest_failure(client, history)
    if point is None:
        raise CommandError(
            f"run {run!r} ended with {kind or 'a failure'}, and would end so again from there "
            f"({end.failure.message}); start at an earlier visit: "
            f"{await fork_hint(client, run, part, earlier=True)}"
        )
    return point


async def fork_hint(client: Client, run: str, part: str | None, *, earlier: bool = False) -> str:
    """Return the command that forks a run at its latest visit, or at the one before.

    If no visit can be found, it is the command that shows what the run did.
    """
    line: WorkflowHistory | None = await Run(client, run).history(part)
    try:
        while line is not None:
            points = await passed_points(line, None)
            visits = [visit for visit in points.visits if visit not in points.elsewhere]
            if visits:
                at = visits[-2 if earlier and len(visits) > 1 else -1]
                return f"`{join(('coterie', 'fork', run, '--at', at))}`"
            before = await previous_history(client, line)
            line = None if before is None else before.history
    except CommandError:
        pass  # this code cannot follow it, and says so when the person asks for more
    return f"`{join(('coterie', 'why', run))}`"


async def _latest_failure(client: Client, history: WorkflowHistory) -> ForkPoint | None:
    """Return the failed step, or else the start of its visit, in whichever history it is.

    A visit may have begun several histories ago, and of a fork in the run that it was forked from.
    """
    line: WorkflowHistory | None = history
    while line is not None:
        points = await passed_points(line, None)
        if points.plan is None:
            return None
        failure = points.failed_step()
        if failure is not None:
            return points.point(
                failure.carried, f"{failure.entry.team}#{failure.entry.visit}/{failure.path}"
            )
        if points.latest is not None:
            at, state = points.latest
            return points.point(state, at)
        before = await previous_history(client, line)
        line = None if before is None else before.history
    return None
