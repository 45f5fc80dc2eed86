"""Speak MCP on standard input and output. All types of the SDK stay in this module.

Only protocol messages reach standard output: while it serves, the SDK sends everything else that
this process or its children print to standard error.
"""

import asyncio
import logging
import os
from collections.abc import Mapping
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

from coterie.failures import CommandError
from coterie.mcp_server.run_host import RunHost
from coterie.mcp_server.run_reports import report_text
from coterie.mcp_server.served_teams import ServedTeam
from coterie.mcp_server.team_tools import CallReport, TeamTools, ToolListing
from coterie.settings import Settings
from coterie.version import own_version
from dsl.visible import visible

_log = logging.getLogger("coterie")

_INSTRUCTIONS = (
    "Each team is a tool that starts a durable run. A run outlives this connection: `status` "
    "lists the runs, `result` returns what one came to, and `answer` sends a message to a "
    "session. Approvals are decided by people, never here."
)
_UNEXPECTED = "the call failed unexpectedly; the log of the server has the reason"


async def serve_stdio(settings: Settings, teams: Mapping[str, ServedTeam], wait: float) -> None:
    """Serve one client until it hangs up.

    Raises:
        CommandError: There is no Temporal server.
    """
    host = RunHost(settings)
    tools = TeamTools(host, teams, wait)
    hosting = asyncio.create_task(host.serve())
    speaking = asyncio.create_task(_speak(tools))
    try:
        await asyncio.wait({hosting, speaking}, return_when=asyncio.FIRST_COMPLETED)
        if hosting.done():
            await hosting  # it only ends by an error
        await speaking
    finally:
        speaking.cancel()
        hosting.cancel()
        await asyncio.wait({hosting, speaking})


async def _speak(tools: TeamTools) -> None:
    server = Server(
        "coterie",
        version=own_version(),
        instructions=_INSTRUCTIONS,
        on_list_tools=_lister(tools),
        on_call_tool=_caller(tools),
    )
    async with stdio_server(stdin=_claimed_input()) as (read, write):
        await server.run(read, write, server.create_initialization_options())


class _Input(anyio.AsyncFile[str]):
    """Lines of the client; unlike the SDK's reader, a wait for the next one can be cancelled."""

    async def __anext__(self) -> str:
        """Return the next line; the thread that waits for it is left behind on cancellation."""
        line = await anyio.to_thread.run_sync(self.wrapped.readline, abandon_on_cancel=True)
        if not line:
            raise StopAsyncIteration
        return line


def _claimed_input() -> _Input:
    """Take standard input for the protocol: child processes find it empty."""
    wire = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return _Input(open(wire, encoding="utf-8", errors="replace"))


def _lister(tools: TeamTools) -> Any:
    async def list_tools(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool(one) for one in tools.listing()])

    return list_tools


def _caller(tools: TeamTools) -> Any:
    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        try:
            return _answer(
                await tools.call(params.name, params.arguments or {}, _client_of(context))
            )
        except CommandError as error:
            return _error(visible(str(error)))
        except Exception:
            _log.exception("the MCP tool %s failed", params.name)
            return _error(_UNEXPECTED)

    return call_tool


def _tool(listing: ToolListing) -> types.Tool:
    return types.Tool(
        name=listing.name,
        description=listing.description,
        input_schema=listing.arguments,
        output_schema=listing.result,
        annotations=types.ToolAnnotations(read_only_hint=listing.reads_only),
    )


def _answer(result: CallReport) -> types.CallToolResult:
    report = result.report
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=report_text(report))],
        structured_content=report.model_dump(mode="json"),
        is_error=result.is_error,
    )


def _error(text: str) -> types.CallToolResult:
    content = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=[*content], is_error=True)


def _client_of(context: ServerRequestContext[Any]) -> str:
    params = context.session.client_params
    return "client" if params is None else params.client_info.name
