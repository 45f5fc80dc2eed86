"""Starting a run for the workers of the shared task queue."""

from coterie.failures import ExitCode
from coterie.logs import quietly
from coterie.runs.new_runs import start_run
from coterie.runs.records import new_id
from coterie.runs.task_queues import is_served
from coterie.server.connection import open_connection
from coterie.settings import Settings
from coterie.terminal import note, say
from dsl.model.plan import Plan
from dsl.values import Json
from workflows.core.messages import TeamInput


async def start(
    settings: Settings,
    name: str,
    plan: Plan | None,
    context: Json,
    id: str | None,
    *,
    marked: bool = False,
    document: str | None = None,
) -> ExitCode:
    """Start it and print its id, the one line on standard output.

    Args:
        settings: which server and which task queue.
        name: the team's, or the plan's.
        plan: None leaves the compiling to the worker.
        context: what the run begins with.
        id: made up when None.
        marked: the run asks its worker how it is to be seen.
        document: sent instead of the plan.
    """
    quietly(settings)
    connection = await open_connection(settings, start=True)
    if document is not None:
        given = TeamInput(document=document, context=context)
    elif plan is not None:
        given = TeamInput(plan=plan, context=context, marked=marked)
    else:
        given = TeamInput(team=name, context=context)
    run = await start_run(
        connection.client,
        id or new_id(name),
        given,
        task_queue=settings.task_queue,
        summary=name,
    )
    say(run.id)
    ui = connection.ui_of(run.id)
    if ui:
        note(ui)
    if not await is_served(connection.client, settings.task_queue):
        note(f"no worker serves the task queue {settings.task_queue!r} yet: `coterie worker`")
    return ExitCode.DONE
