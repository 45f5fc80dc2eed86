"""The points that a replayed run passes, each with the state to continue from."""

from collections import deque
from dataclasses import dataclass, field, fields, replace

from temporalio.client import WorkflowHistory

from coterie.dsl.evaluate.routing import failed_task
from coterie.dsl.model.outcomes import Failure, Outcome
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.traversal.step_paths import within_rounds, without_rounds
from coterie.dsl.values import Json
from coterie.failures import CommandError
from coterie.replay.observer import ReplayObserver, observed
from coterie.workflows.core.causes.step_causes import Failed
from coterie.workflows.core.state import RunState, TrailRecord
from coterie.workflows.core.state_keys import MAIN
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
        failed = failed_task(team, tasks)
        found: PassedFailure | None = None
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


def _failure(one: PassedFailure) -> Failure | None:
    cause = one.entry.cause
    return cause.failure if isinstance(cause, Failed) else None


def _state_to_carry(state: RunState) -> Json:
    """Return the state without the messages that nobody has taken: they stay with their run."""
    kept = {one.name: getattr(state, one.name) for one in fields(RunState)}
    received = next_number(state.session) - 1
    kept["session"] = replace(state.session, queue=[], received=received)
    return RunState(**kept).carried()


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
        known = {one.name: getattr(run.state, one.name) for one in fields(RunState)}
        run.state = self.points.state = _PassedState(**known, points=self.points)


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
