"""Run a whole plan in this process, against a world of the test."""

from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.runs.in_process.local_scope import LocalScope, World
from coterie.workflows.core.state import RunState
from coterie.workflows.core.views import TeamResult
from coterie.workflows.handlers.start_checks import begin
from coterie.workflows.interpreter import run


async def run_local(plan: Plan, context: Json, world: World) -> TeamResult:
    """Return the result of the run.

    Raises:
        RunFailed: Like a durable run.
    """
    state = RunState()
    state.main.context = context
    begin(plan, state)
    return await run(LocalScope(plan, state, world))
