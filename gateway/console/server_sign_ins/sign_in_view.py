"""The page of a sign-in at an MCP server: before it begins, and when it continues there."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerSignInPage:
    """What a person reads before the sign-in."""

    server: str
    address: str
    """Of the MCP server, as the worker's configuration has it."""
    run: str
    run_url: str
    action: str
    """Where the form goes."""
    link: str = ""
    """The address of the authorization server; empty: the sign-in has not begun."""
    host: str = ""
    """Of that server."""
