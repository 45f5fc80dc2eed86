"""Sign a person in at an MCP server, for the workers of this project; or forget the sign-in."""

from collections.abc import Awaitable, Callable

from coterie.activities.mcp_client.token_endpoint import TokenUnavailable
from coterie.activities.tool_functions.missing_packages import needing
from coterie.activities.workspace.function_failures import FunctionFailure
from coterie.documents.worker_trust import TrustedConfig
from coterie.dsl.errors import listed, nearest
from coterie.dsl.model.sections.mcp_auth import LoginAuth
from coterie.failures import CommandError
from coterie.settings import Settings
from coterie.worker.sign_in_files import SignInFile
from coterie.worker.surroundings import mcp_servers_of


def login_of(trusted: TrustedConfig, server: str) -> LoginAuth:
    """Return how people sign in at a server.

    Raises:
        CommandError: There is no such server, or it takes no sign-in of a person.
    """
    section = trusted.mcp_servers.get(server)
    if section is None:
        names = tuple(trusted.mcp_servers)
        hint = nearest(server, names)
        raise CommandError(
            f"unknown MCP server {server!r}; `worker.mcp_servers` has {listed(names) or 'none'}"
            + (f"; {hint}" if hint else "")
        )
    if not isinstance(section.auth, LoginAuth):
        raise CommandError(
            f"the MCP server {server!r} takes no sign-in of a person; add `auth: {{type: login}}` "
            "to it"
        )
    return section.auth


async def log_in(
    trusted: TrustedConfig,
    settings: Settings,
    server: str,
    port: int,
    show: Callable[[str], Awaitable[None]],
) -> None:
    """Sign a person in, and store that for the workers of this project.

    Raises:
        CommandError: It is not possible; says why.
    """
    auth = login_of(trusted, server)
    known = mcp_servers_of(trusted, settings).servers[server]
    try:
        with needing("mcp", f"signing in at {server}"):
            from coterie.activities.mcp_client.sign_in_flow import SignInFailed, sign_in
    except FunctionFailure as failure:
        raise CommandError(str(failure)) from None
    try:
        signed_in = await sign_in(known, auth, port, show)
        SignInFile(settings, server).write(signed_in)
    except (SignInFailed, TokenUnavailable) as error:
        raise CommandError(str(error)) from None
