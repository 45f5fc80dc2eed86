"""What an error on a connection says of a call, and the words for it."""

import asyncio
from typing import cast

import mcp_types as types
from mcp import MCPError

from coterie.activities.mcp_client.call_outcomes import CallLost, McpCallRefused, ServerUnreachable
from coterie.activities.mcp_client.transport.call_progress import CallInProgress
from coterie.activities.mcp_client.transport.error_output import ErrorOutput
from coterie.dsl.visible import one_line, shortened_text

_MAX_MESSAGE_LENGTH = 2_000
_NO_RESOURCE = -32002
"""The code of servers before 2026-07-28 for a resource that is not there."""


class ConnectionFailures:
    """The failures of one connection."""

    def __init__(self, server: str, errors: ErrorOutput) -> None:
        self._server = server
        self._errors = errors
        self._broken = ""

    def note_broken(self, why: str) -> None:
        """Note why the connection ended."""
        self._broken = why

    def of_call(self, error: MCPError, call: CallInProgress) -> Exception:
        """Return what an error says of a call: only some rule out that it happened."""
        if call.question is not None:
            return call.question
        match call.acceptance:
            case "unreached":
                return ServerUnreachable(self.message("did not take the call", error, call.status))
            case "refused":
                return McpCallRefused(self.message("refused the call", error, call.status))
            case "unknown":
                pass
        if error.code in (types.METHOD_NOT_FOUND, types.INVALID_PARAMS, _NO_RESOURCE):
            return McpCallRefused(self.message("refused the call", error))
        closed = error.code in (types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT)
        what = "ended during the call" if closed else "failed during the call"
        return CallLost(self.message(what, error))

    def message(self, what: str, error: BaseException, status: int | None = None) -> str:
        """Say what happened, with the reason that the server or the system gives."""
        plain = _plain(error)
        reason = one_line(str(plain)).strip() or type(plain).__name__
        if isinstance(plain, TimeoutError | asyncio.CancelledError):
            reason = ""
        said = self._errors.last_line
        parts = (
            f"HTTP status {status}" if status is not None else "",
            self._broken or shortened_text(reason, _MAX_MESSAGE_LENGTH),
            f"its last words: {said}" if said else "",
        )
        why = "; ".join(part for part in parts if part)
        return f"the MCP server {self._server!r} {what}" + (f": {why}" if why else "")


def _plain(error: BaseException) -> BaseException:
    """Return the first cause in nested groups of exceptions."""
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        return _plain(group.exceptions[0])
    return error
