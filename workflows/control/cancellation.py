"""Cancellation: what a cancelled run still does, and for how long.

The run first cancels the steps in progress, whose `finally` steps run. Then the teams of
`on_cancel` run. Both share one time limit. A failure there changes nothing: the run ends as
cancelled.
"""

from collections.abc import Awaitable, Callable

from coterie.dsl.errors import TeamError
from coterie.dsl.evaluate.because import route_because
from coterie.dsl.model.causes import RunCancelled
from coterie.dsl.model.outcomes import Failure
from coterie.dsl.model.plan import Plan
from coterie.workflows.control.pause_and_amend import give_up
from coterie.workflows.core.causes.step_causes import Failed, TimeOver, failed_with
from coterie.workflows.core.location import Interpreter, Location, Redirected, Returned
from coterie.workflows.core.results import result
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_keys import MAIN, StateKey
from coterie.workflows.core.state_parts import Routed, Track
from coterie.workflows.core.trail import note_cleanup_failure, note_control, note_step
from coterie.workflows.core.views import TeamResult


def begin_to_stop(scope: Scope) -> float:
    """Return the time at which a cancelled run ends; the first caller sets it.

    End a pause here, because nobody may come to resume the run.
    """
    state = scope.state
    if state.stop_by is None:
        state.stop_by = scope.time() + scope.plan.limits.cancel_timeout
        state.paused = None
        note_control(state, scope.now(), _cancellation_cause(scope), status="cancelled")
        give_up(state, scope.now())
    return state.stop_by


def _cancellation_cause(scope: Scope) -> RunCancelled:
    return RunCancelled("cancelled", scope.cancelled() or None)


def _failure_of_team(error: TeamError | Redirected) -> Failed:
    if isinstance(error, TeamError):
        return failed_with(error)
    return Failed("failed", Failure("Redirected", route_because(error.cause)))


async def at_last(scope: Scope, name: str, work: Callable[[], Awaitable[object]]) -> None:
    """Run the cleanup of a cancelled run, within its time limit.

    The cleanup gets its own coroutine, because the calling one is cancelled. It cannot redirect the
    run or fail it.
    """
    seconds = begin_to_stop(scope) - scope.time()
    location = Location.of_visit(MAIN, None, 0).at(name)

    async def job() -> None:
        try:
            await work()
        except Returned:
            pass  # ends the work without a failure
        except (TeamError, Redirected) as left:
            note_step(scope, location, "failed", _failure_of_team(left))

    if seconds > 0:
        finished = await scope.together({name: job}, enough=bool, seconds=seconds)
        if finished:
            return
    limit = scope.plan.limits.cancel_timeout
    note_step(scope, location, "cancelled", TimeOver("cancel_timeout", limit))


async def stop(scope: Scope, interpreter: Interpreter) -> TeamResult:
    """Run the teams of `on_cancel`.

    Returns:
        The result as of the cancellation, with the usage and the digest after the cleanup.
    """
    begin_to_stop(scope)
    partial = result(scope, "cancelled", route_because(_cancellation_cause(scope)))
    for team, track in _cleaners(scope.plan, scope.state).items():
        await at_last(
            scope, team, lambda team=team, track=track: _clean_up(team, track, scope, interpreter)
        )
    spent = result(scope, "cancelled", partial.because)
    return spent.model_copy(update={"context": partial.context, "output": partial.output})


def _cleaners(plan: Plan, state: RunState) -> dict[str, str]:
    """Return `{team: the track that it cleans up after}`: each open team's own, or the run's."""
    cleaners: dict[str, str] = {}
    for name, track in state.tracks.items():
        team = plan.teams.get(track.team or "") if track.visit else None
        named = (team.on_cancel if team is not None else None) or plan.on_cancel
        if named is not None and (team is not None or name == MAIN):
            cleaners.setdefault(named, name)
    return cleaners


async def _clean_up(team: str, of: str, scope: Scope, interpreter: Interpreter) -> None:
    """Run a cleanup team on its own track, with the context and tasks of the cancelled one."""
    state = scope.state
    track = state.tracks[of]
    frame = state.open_frame(of)
    latest = dict(track.latest)
    if frame is not None and track.team is not None:
        latest[track.team] = frame.tasks
    name = StateKey.cleanup(team)
    state.tracks[name] = Track(
        context=track.context,
        team=team,
        routed=Routed("cancelled", _cancellation_cause(scope), track.team),
        latest=latest,
    )
    try:
        await interpreter.follow(name)
    except TeamError as error:
        here = state.tracks[name]
        location = Location.of_visit(name, here.team or team, here.visit)
        note_cleanup_failure(scope, location, failed_with(error))
