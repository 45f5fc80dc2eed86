"""Run a whole plan in this process, against a world of the test."""

from coterie.runs.in_process.local_scope import LocalScope, World
from dsl.model.plan import Plan
from dsl.values import Json
from workflows.core.state import RunState
from workflows.core.views import TeamResult
from workflows.handlers.start_checks import begin
from workflows.interpreter import run


async def run_local(plan: Plan, context: Json, world: World) -> TeamResult:
    """Return the result of the run.

    Raises:
        RunFailed: Like a durable run.
    """
    state = RunState()
    state.main.context = context
    begin(plan, state)
    return await run(LocalScope(plan, state, world))
