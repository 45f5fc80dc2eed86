"""Start a run for the workers of the shared task queue."""

from coterie.failures import ExitCode
from coterie.logs import quietly
from coterie.runs.new_runs import start_run
from coterie.runs.records import new_id
from coterie.runs.task_queues import is_served
from coterie.server.connection import open_connection
from coterie.settings import Settings
from coterie.terminal import note, say
from coterie.workflows.core.messages import TeamInput


async def start(settings: Settings, name: str, given: TeamInput, id: str | None) -> ExitCode:
    """Start it and print its id, the only line on standard output.

    Args:
        settings: Server and task queue.
        name: Name of the team or the plan.
        given: What the run gets: a plan, or what a worker compiles.
        id: None to generate one.
    """
    quietly(settings)
    connection = await open_connection(settings, start=True)
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
