"""A team as a step: it runs on a track of its own, within the same limits."""

from pydantic import JsonValue

from dsl.errors import InvalidContext, LimitExceeded, TeamError
from dsl.evaluate.declared_values import merged
from dsl.model.causes import Called
from dsl.model.merge import deep_merge
from dsl.model.outcomes import Outcome
from dsl.model.steps import TeamStep
from dsl.sizes import check_size
from dsl.templates.template_filling import fill
from workflows.core.location import Interpreter, Location
from workflows.core.memory import Routed, Track
from workflows.core.results import rendered_output
from workflows.core.scope import Interrupted, Scope

MAX_NESTED = 20
"""Maximum nesting of team calls: each takes Python's stack, which is limited."""


async def execute(
    step: TeamStep, place: Location, scope: Scope, interpreter: Interpreter
) -> Outcome:
    """Run the team to its own end; its context is a copy, its outputs are the data."""
    tracks = scope.state.tracks
    name = place.key.called_team()
    if name.nested_calls > MAX_NESTED:
        raise LimitExceeded(
            f"Teams within teams are nested more than {MAX_NESTED} deep: {step.name!r} of team "
            f"{place.team!r} would be the next",
            limit="max_recursion_depth",
            allowed=MAX_NESTED,
        )
    if name not in tracks:
        parent = tracks[place.track]
        given = fill(step.input, place.facts(scope).names())
        check_size(given, f"the input of {step.name!r}")
        given = given if isinstance(given, dict) else {}
        here = place.context(scope)
        merging = deep_merge(here, given)
        try:
            context = merged(here, given, merging, scope.plan.context)
        except InvalidContext as error:
            return Outcome.failed("InvalidContext", f"input of {step.name!r}: {error}")
        routed = Routed("called", Called("called", place.step), place.team)
        tracks[name] = Track(
            context=context, team=step.team, routed=routed, latest=dict(parent.latest)
        )
    track = tracks[name]
    failed: Outcome | None = None
    declared: JsonValue = None
    try:
        await interpreter.follow(name)
        declared = _declared(step, track, scope)
    except (Interrupted, LimitExceeded):
        raise  # the run comes back to the middle of the called team, or ends here
    except TeamError as error:
        failed = Outcome.failed(type(error).__name__, str(error))
    del tracks[name]
    scope.state.forget(name)
    if failed is not None:
        return failed
    if scope.plan.teams[step.team].output is not None:
        return Outcome.succeeded(declared)
    last = track.latest.get(track.routed.from_team or "", {})
    output = {task: outcome.data for task, outcome in last.items() if outcome.success}
    return Outcome.succeeded({"output": output, "context": track.context})


def _declared(step: TeamStep, track: Track, scope: Scope) -> JsonValue:
    """Return the output that the team declares; None without one."""
    output = scope.plan.teams[step.team].output
    tasks = track.latest.get(step.team, {})
    return rendered_output(f"team {step.team!r}", output, scope, track, tasks)
