"""Start a run by a name: of a deployed team, of one version of it, or of a worker's document."""

from collections.abc import Callable

from coterie.deployed.registry import DeployedVersion, Registry
from coterie.documents.compilation import check_start
from coterie.dsl.values import Json
from coterie.failures import ExitCode
from coterie.logs import quietly
from coterie.runs.new_runs import start, start_on
from coterie.server.connection import open_connection
from coterie.server.embedded_server import EmbeddedServer
from coterie.settings import Settings
from coterie.terminal import note
from coterie.workflows.core.messages import TeamInput


async def start_named(
    settings: Settings,
    text: str,
    id: str | None,
    context_of: Callable[[DeployedVersion | None], Json],
) -> ExitCode:
    """Start a run and print its id.

    Args:
        settings: Server and task queue.
        text: `review`, or `review@3`.
        id: None to generate one.
        context_of: Returns the checked context, for the deployed version if there is one.
    """
    if settings.address is None and not EmbeddedServer(settings).has_data():
        return await start(settings, text, TeamInput(team=text, context=context_of(None)), id)
    quietly(settings)
    connection = await open_connection(settings, start=True)
    version = await Registry(connection.client, settings.task_queue).version(text)
    context = context_of(version)
    name = text
    if version is not None:
        text, name = version.name, version.team
        note(f"starts {text}, as it was deployed")
    return await start_on(connection, settings, name, TeamInput(team=text, context=context), id)


def check_context(version: DeployedVersion, context: Json, how: str) -> None:
    """Check that a deployed version can start with a context.

    Raises:
        CommandError: The context does not fit.
    """
    check_start(context, version.content.context, version.content.needs, how=how)
