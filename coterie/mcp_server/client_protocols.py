"""How clients reach the MCP server: on standard input and output, or over HTTP at a port."""

from collections.abc import Coroutine, Mapping
from functools import partial

from coterie.dsl.errors import listed
from coterie.mcp_server.http_protocol import PATH, http_token, listener, speak_http, token_file
from coterie.mcp_server.protocol_server import serve_clients
from coterie.mcp_server.served_teams import ServedTeam
from coterie.mcp_server.stdio_protocol import speak_stdio
from coterie.settings import Settings
from coterie.terminal import is_interactive, note


def serving(
    settings: Settings,
    teams: Mapping[str, ServedTeam],
    wait: float,
    port: int | None,
    token_env: str | None,
) -> Coroutine[None, None, None]:
    """Say where clients find the teams, and return the work of serving them.

    Args:
        settings: The project.
        teams: The teams, by the names of their tools.
        wait: How long a call waits for its run, in seconds.
        port: Of HTTP, 0 for a free one; None for standard input and output.
        token_env: The environment variable with the token of HTTP; None for the project's own.
    """
    if port is None:
        if is_interactive():
            note(f"an MCP client starts this command; it offers {listed(teams)}; Ctrl-C stops it")
        return serve_clients(settings, teams, wait, speak_stdio)
    token = http_token(settings, token_env)
    at = listener(port)
    where = token_env or token_file(settings)
    note(f"offers {listed(teams)} at http://127.0.0.1:{at.getsockname()[1]}{PATH}")
    note(f"clients send the token in {where} as `Authorization: Bearer TOKEN`")
    return serve_clients(settings, teams, wait, partial(speak_http, at=at, token=token))
