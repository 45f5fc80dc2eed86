"""A team as a step: it runs on a track of its own, within the same limits."""

from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.steps import TeamStep
from coterie.dsl.sizes import check_size
from coterie.dsl.templates.template_filling import fill
from coterie.workflows.agents.team_runs import begin_team, follow_team
from coterie.workflows.core.location import Interpreter, Location
from coterie.workflows.core.scope import Scope


async def execute(
    step: TeamStep, location: Location, scope: Scope, interpreter: Interpreter
) -> Outcome:
    """Run the team to its own end; its context is a copy, its outputs are the data."""
    team_input = {}
    if location.key.called_team() not in scope.state.tracks:
        filled = fill(step.input, location.facts(scope).names())
        check_size(filled, f"the input of {step.name!r}")
        team_input = filled if isinstance(filled, dict) else {}
    refused = begin_team(step.team, team_input, step.name, location, scope)
    if refused is not None:
        return refused
    outcome, track = await follow_team(step.team, location, scope, interpreter)
    if not outcome.success or scope.plan.teams[step.team].output is not None:
        return outcome
    return Outcome.succeeded({"output": outcome.data, "context": track.context})
