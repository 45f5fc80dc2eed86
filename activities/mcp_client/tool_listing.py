"""Read the list of a server's tools, page by page and within bounds."""

from collections.abc import Awaitable, Callable

import mcp_types as types

from activities.mcp_client.call_outcomes import FoundServerTools, UnusableTool
from activities.mcp_client.server_answers import server_tool
from dsl.model.capabilities import ServerTool

MAX_TOOLS = 1_000
"""Tools of one server; further ones are not read."""

_MAX_PAGES = 100
_MAX_LEFT_OUT = 100


async def list_tools(
    page_at: Callable[[str | None], Awaitable[types.ListToolsResult]],
) -> FoundServerTools:
    """Return the tools of all pages, and those that cannot be offered; stop at the bounds.

    Args:
        page_at: Asks the server for the page at a cursor; None for the first page.
    """
    found: dict[str, ServerTool] = {}
    left_out: list[UnusableTool] = []
    seen = 0
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await page_at(cursor)
        for tool in page.tools[: MAX_TOOLS - seen]:
            match server_tool(tool):
                case ServerTool() as known:
                    found[known.name] = known
                case UnusableTool() as unusable:
                    left_out.append(unusable)
        seen += len(page.tools)
        cursor = page.next_cursor
        if seen > MAX_TOOLS or (seen == MAX_TOOLS and cursor is not None):
            left_out.insert(0, UnusableTool("...", f"the server has more than {MAX_TOOLS} tools"))
        if seen >= MAX_TOOLS or cursor is None:
            break
    if len(left_out) > _MAX_LEFT_OUT:
        more = len(left_out) - _MAX_LEFT_OUT
        left_out[_MAX_LEFT_OUT:] = [UnusableTool("...", f"and {more} more")]
    return FoundServerTools(tuple(found.values()), tuple(left_out))
