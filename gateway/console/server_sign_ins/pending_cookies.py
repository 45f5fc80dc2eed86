"""Keep a sign-in at an MCP server in the browser that began it, sealed, until it comes back."""

from typing import Final

from starlette.datastructures import Headers

from coterie.activities.mcp_client.pending_logins import PendingLogin
from coterie.gateway.identity.sealed_values import SealKeys
from coterie.gateway.identity.session_cookies import (
    MAX_COOKIE,
    PENDING_LIFE,
    cookies_in,
    drop_cookie,
    set_cookie,
)
from coterie.gateway.operations.error_reports import Rejection

_PREFIX: Final = "__Host-coterie-mcp-"
_PURPOSE: Final = "mcp sign-in"
_MAX_PENDING: Final = 3
"""Sign-ins in progress of one browser: each has a cookie, and headers have an end."""


def pending_cookies(keys: SealKeys, pending: PendingLogin, headers: Headers) -> tuple[str, ...]:
    """Return the headers that keep a sign-in in progress, and drop the oldest beyond a few.

    Raises:
        Rejection: It does not fit in a cookie.
    """
    name, sealed = _PREFIX + pending.state, keys.seal(_PURPOSE, pending)
    if len(name) + len(sealed) > MAX_COOKIE:
        raise Rejection(
            502,
            "server_refused",
            "the addresses of the authorization server are too long",
            f"Run `coterie mcp login {pending.server}` in the project of the worker.",
        )
    others = [held for held in cookies_in(headers.getlist("cookie")) if held.startswith(_PREFIX)]
    surplus = others[: max(0, len(others) + 1 - _MAX_PENDING)]
    return (set_cookie(name, sealed, PENDING_LIFE), *map(drop_cookie, surplus))


def pending_login(keys: SealKeys, state: str, headers: Headers) -> PendingLogin | None:
    """Return the sign-in in progress of a state; None if this browser has none."""
    cookies = cookies_in(headers.getlist("cookie"))
    return keys.open(_PURPOSE, cookies.get(_PREFIX + state), PendingLogin)


def dropped(state: str) -> str:
    """Return the header that forgets a sign-in: it counts once."""
    return drop_cookie(_PREFIX + state)
