"""Sign people in at MCP servers by a browser that comes back to a gateway, in two halves."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from coterie.activities.mcp_client.pending_logins import LoginRefused, PendingLogin, finish_login
from coterie.activities.mcp_client.token_endpoint import Guard, TokenUnavailable
from coterie.activities.tool_functions.missing_packages import needing
from coterie.activities.tool_functions.web.page_download import guard_connections
from coterie.activities.tool_functions.web.public_addresses import AddressRefused, HostUnknown
from coterie.activities.workspace.function_failures import FunctionFailure
from coterie.activities.workspace.web_access import WebAccess
from coterie.documents.worker_trust import TrustedConfig
from coterie.dsl.model.sections.safe_addresses import is_loopback
from coterie.failures import CommandError
from coterie.settings import Settings
from coterie.worker.server_sign_in import login_of
from coterie.worker.sign_in_files import SignInFile
from coterie.worker.surroundings import mcp_servers_of

if TYPE_CHECKING:
    from coterie.activities.mcp_client.browser_logins import BegunLogin

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


async def begin_console_login(
    trusted: TrustedConfig, settings: Settings, server: str, redirect: str, person: str, run: str
) -> "BegunLogin":
    """Return where a person signs in at a server, and what the end of it must know.

    Args:
        trusted: The worker's configuration.
        settings: The project.
        server: A server of `worker.mcp_servers`.
        redirect: Where the browser comes back.
        person: Who signs in.
        run: The run that waits for it.

    Raises:
        CommandError: It is not possible; says why.
    """
    auth = login_of(trusted, server)
    known = mcp_servers_of(trusted, settings).servers[server]
    assert known.section.url is not None
    try:
        with needing("mcp", f"signing in at {server}"):
            from coterie.activities.mcp_client.browser_logins import LoginRequest, begin_login
            from coterie.activities.mcp_client.sign_in_flow import SignInFailed
    except FunctionFailure as failure:
        raise CommandError(str(failure)) from None
    request = LoginRequest(redirect, person, run)
    try:
        return await begin_login(known, auth, request, _guard(trusted, known.section.url))
    except SignInFailed as error:
        raise CommandError(str(error)) from None


async def finish_console_login(
    trusted: TrustedConfig,
    settings: Settings,
    pending: PendingLogin | None,
    query: Mapping[str, str],
) -> None:
    """Store the sign-in of a person for the workers of this project.

    Args:
        trusted: The worker's configuration.
        settings: The project.
        pending: What `begin_console_login` gave, from this browser.
        query: Of the address to which the browser came back.

    Raises:
        CommandError: Nobody is signed in; says why.
    """
    guard = None if pending is None else _guard(trusted, pending.url)
    try:
        signed_in = await finish_login(pending, query, guard)
        assert pending is not None
        section = trusted.mcp_servers.get(pending.server)
        if section is None or section.url != pending.url:
            raise LoginRefused("the address of the server has changed meanwhile")
        store = SignInFile(settings, pending.server)
        async with store.lock():
            store.write(signed_in)
    except (LoginRefused, TokenUnavailable, AddressRefused, HostUnknown) as error:
        raise CommandError(str(error)) from None


def _guard(trusted: TrustedConfig, url: str) -> Guard:
    """Let a server name public addresses, its own, and those that the worker may reach."""
    host = (urlsplit(url).hostname or "").casefold().rstrip(".")
    own = (host, *_LOOPBACK) if is_loopback(host) else (host,)
    access = WebAccess(private_hosts=(*trusted.web.private_hosts, *own))
    return partial(guard_connections, access=access)
