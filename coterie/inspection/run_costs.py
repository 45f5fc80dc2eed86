"""Show what a run has used: from the run itself, or from its history if no worker answers."""

from temporalio.client import WorkflowExecutionStatus

from coterie.failures import ExitCode
from coterie.logs import quietly
from coterie.rendering.cost_tables import cost_text
from coterie.replay.rebuilt_run import NotFollowed, Rebuilt, rebuilt
from coterie.runs.call_errors import Unanswered
from coterie.runs.run_client import Run, json_of
from coterie.server.connection import open_connection
from coterie.settings import Settings
from coterie.terminal import say
from coterie.workflows.core.views import CostReport


async def show_cost(settings: Settings, id: str, *, as_json: bool) -> ExitCode:
    """Print the costs as tables, or as JSON."""
    quietly(settings)
    run = Run((await open_connection(settings)).client, id)
    description = await run.describe()
    over = description.status != WorkflowExecutionStatus.RUNNING
    report = await cost_of(run, over=over)
    say(json_of(report) if as_json else cost_text(id, report, over=over))
    return ExitCode.DONE


async def cost_of(run: Run, *, over: bool) -> CostReport:
    """Ask the worker while the run is open; else read the history, which needs no worker."""
    if over:
        rebuilt_run = await rebuilt(await run.history())
        return rebuilt_run.cost if isinstance(rebuilt_run, Rebuilt) else await run.cost()
    try:
        return await run.cost()
    except Unanswered:
        rebuilt_run = await rebuilt(await run.history())
        if isinstance(rebuilt_run, NotFollowed):
            raise
        return rebuilt_run.cost
