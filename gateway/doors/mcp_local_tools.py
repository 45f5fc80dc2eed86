"""The tools beside those of the teams, for `coterie serve --mcp`: its client is the local user."""

from collections.abc import Sequence

from coterie.arguments import login_name
from coterie.gateway.doors.mcp_authoring_tools import AuthoringBench, AuthoringTools
from coterie.gateway.doors.mcp_run_tools import RunTools
from coterie.gateway.identity.access_rules import ALL_ROLES
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.run_access import RunAccess
from coterie.mcp_server.run_host import RunHost
from coterie.mcp_server.tool_sets import ToolSet
from coterie.settings import Settings
from coterie.workflows.core.senders import LOCAL_USER


def local_tools(settings: Settings, host: RunHost) -> Sequence[ToolSet]:
    """Return the tools of a client that nobody but the local user can have started.

    Args:
        settings: The project.
        host: Has the connection to the server.
    """
    user = Identity(subject=f"{LOCAL_USER}{login_name()}", method="local", grants=ALL_ROLES)
    found: list[RunAccess] = []

    async def access() -> RunAccess:
        connection = await host.connection()
        if not found:
            found.append(RunAccess(settings, connection))
        found[0].connection = connection  # an embedded server may have moved
        return found[0]

    return RunTools(access, user), AuthoringTools(AuthoringBench(settings))
