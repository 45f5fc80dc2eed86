"""A team that a step or a model calls: it runs on a track of its own, within the same limits."""

from pydantic import JsonValue

from coterie.dsl.errors import InvalidContext, LimitExceeded, TeamError, TeamFailed
from coterie.dsl.evaluate.declared_values import merged
from coterie.dsl.model.causes import Called
from coterie.dsl.model.merge import deep_merge
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.values import Json
from coterie.workflows.core.location import Interpreter, Location
from coterie.workflows.core.results import rendered_output
from coterie.workflows.core.scope import Interrupted, Scope
from coterie.workflows.core.state_keys import StateKey
from coterie.workflows.core.state_parts import Routed, Track

MAX_NESTED = 20
"""Maximum nesting of team calls: each takes Python's stack, which is limited."""


def begin_team(
    team: str, given: Json, caller: str, location: Location, scope: Scope
) -> Outcome | None:
    """Start the team's track with a copy of the context, unless it has started.

    Args:
        team: the team's id.
        given: what is merged over the context.
        caller: the step or tool that calls, for messages.
        location: of the call; for a tool, as seen from within it.
        scope: the run.

    Returns:
        The failure of a context that the team cannot have.

    Raises:
        LimitExceeded: teams are nested too deep.
    """
    tracks, name = scope.state.tracks, location.key.called_team()
    _check_nesting(name, caller, location)
    if name in tracks:
        return None
    here = location.context(scope)
    merging = deep_merge(here, given)
    try:
        context = merged(here, given, merging, scope.plan.context)
    except InvalidContext as error:
        return Outcome.failed("InvalidContext", f"input of {caller!r}: {error}")
    routed = Routed("called", Called("called", location.step), location.team)
    latest = dict(tracks[location.track].latest)
    tracks[name] = Track(
        context=context,
        team=team,
        routed=routed,
        latest=latest,
        enclosing_tools=location.enclosing_tools if scope.plan.narrow_grants else (),
        personas=_paying(location, scope),
    )
    return None


def _check_nesting(name: StateKey, caller: str, location: Location) -> None:
    """Raise LimitExceeded if the track of this name is nested too deep."""
    if name.nested_calls > MAX_NESTED:
        raise LimitExceeded(
            f"Teams within teams are nested more than {MAX_NESTED} deep: {caller!r} of team "
            f"{location.team!r} would be the next",
            limit="max_recursion_depth",
            allowed=MAX_NESTED,
        )


def _paying(location: Location, scope: Scope) -> tuple[str, ...]:
    """Return the personas whose budgets also pay for a team that is called here."""
    owned = any(budget.scope in ("persona", "task") for budget in scope.plan.budgets)
    return location.personas if owned else ()


async def follow_team(
    team: str, location: Location, scope: Scope, interpreter: Interpreter
) -> tuple[Outcome, Track]:
    """Follow the team's track to its end; the data is its declared output, or `{task: data}`."""
    tracks, name = scope.state.tracks, location.key.called_team()
    track = tracks[name]
    failed: Outcome | None = None
    declared: JsonValue = None
    try:
        await interpreter.follow(name)
        declared = _declared_output(team, track, scope)
    except (Interrupted, LimitExceeded):
        raise  # the run comes back to the middle of the called team, or ends here
    except TeamError as error:
        root = error.root if isinstance(error, TeamFailed) else ""
        failed = Outcome.failed(type(error).__name__, str(error), root=root)
    del tracks[name]
    scope.state.forget(name)
    if failed is not None:
        return failed, track
    if scope.plan.teams[team].output is not None:
        return Outcome.succeeded(declared), track
    last = track.latest.get(track.routed.from_team or "", {})
    output: Json = {task: outcome.data for task, outcome in last.items() if outcome.success}
    return Outcome.succeeded(output), track


def _declared_output(team: str, track: Track, scope: Scope) -> JsonValue:
    """Return the output that the team declares; None without one."""
    output = scope.plan.teams[team].output
    return rendered_output(f"team {team!r}", output, scope, track, track.latest.get(team, {}))
