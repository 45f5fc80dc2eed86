"""Find the point of a recorded run from which another one continues, by replaying its history.

No history contains the state at that point; the interpreter has it in memory there.
So the interpreter replays the history up to that point. A run that continued as new is searched
part by part, the latest first.
"""

from shlex import join
from typing import NamedTuple

from temporalio.client import Client, WorkflowHistory

from coterie.control.passed_points import ForkPoint, passed_points
from coterie.dsl.errors import listed
from coterie.dsl.model.plan import Plan
from coterie.failures import CommandError
from coterie.runs.histories.history_events import closed
from coterie.runs.histories.history_links import PreviousHistory, begun_with, previous_history
from coterie.runs.run_client import Run
from coterie.workflows.core.state_keys import StepKey

_UNFINISHED = ("LimitExceeded", "RunRefused", "InvalidPlan")
"""Failures that repeat from the same point, whatever is changed."""


async def point_at(client: Client, run: str, part: str | None, visit: str) -> ForkPoint:
    """Find the start of a visit of an open or finished run.

    Raises:
        CommandError: The visit does not exist, or no run can continue from it.
    """
    known: list[str] = []
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
    last = 0
    while True:
        points = await passed_points(line, None, number)
        if points.found is not None:
            return points.point(points.found, points.message_step)
        awaited = points.awaited
        last = max((last, *awaited))
        earlier = not awaited or number < awaited[0]
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
    return ForkOrigin(line.workflow_id, begun_with(line).plan)


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
    found = None if kind in _UNFINISHED else await _latest_failure(client, history)
    if found is None:
        raise CommandError(
            f"run {run!r} ended with {kind or 'a failure'}, and would end so again from there "
            f"({end.failure.message}); start at an earlier visit: "
            f"{await fork_hint(client, run, part, earlier=True)}"
        )
    return found


async def fork_hint(client: Client, run: str, part: str | None, *, earlier: bool = False) -> str:
    """Return the command that forks a run at its latest visit, or at the one before.

    If no visit can be found, it is the command that shows what the run did.
    """
    line: WorkflowHistory | None = await Run(client, run).history(part)
    try:
        while line is not None:
            points = await passed_points(line, None)
            visits = [one for one in points.visits if one not in points.elsewhere]
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
        found = points.failed_step()
        if found is not None:
            return points.point(
                found.carried, f"{found.entry.team}#{found.entry.visit}/{found.path}"
            )
        if points.latest is not None:
            at, carried = points.latest
            return points.point(carried, at)
        before = await previous_history(client, line)
        line = None if before is None else before.history
    return None
