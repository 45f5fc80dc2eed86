"""Start a run for the workers of the shared task queue."""

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
    """Start it and print its id, the only line on standard output.

    Args:
        settings: Server and task queue.
        name: Name of the team or the plan.
        plan: None to let the worker compile it.
        context: Initial context of the run.
        id: None to generate one.
        marked: The run asks its worker for visibility settings.
        document: Sent instead of the plan.
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
        note(f"no worker serves the task queue {settings.task_queue!r} yet: start `coterie worker`")
    return ExitCode.DONE
