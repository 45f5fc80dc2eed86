"""Groups of tools: `{mcp: server}` stands for all tools of an MCP server, or those that match.

The compiler adds a tool for each member; a persona that names the group offers all of them.
"""

import re
from collections.abc import Mapping

from dsl.model.tools.offer_names import kind_of_offer, matches_offer
from dsl.model.tools.tool_section import ToolSection


def is_group(section: ToolSection) -> bool:
    """Return whether the section declares the tools of a whole MCP server."""
    return section.mcp is not None and "/" not in section.mcp


def member_name(group: str, tool: str) -> str:
    """Return the name of a group's member: `group_tool`, as providers accept it."""
    return f"{group}_{re.sub('[^a-zA-Z0-9_-]', '_', tool)}"


def is_included(section: ToolSection, tool: str) -> bool:
    """Return whether an offer of the server belongs to the group: without `include`, every tool."""
    if not section.include:
        return kind_of_offer(tool) == "tool"
    return any(matches_offer(tool, one) for one in section.include)


def tool_groups(tools: Mapping[str, ToolSection]) -> dict[str, tuple[str, ...]]:
    """Return `{group: its members}`, in the order of the document."""
    return {
        name: tuple(one for one, tool in tools.items() if _is_member(one, tool, name, section))
        for name, section in tools.items()
        if is_group(section)
    }


def _is_member(name: str, tool: ToolSection, group: str, section: ToolSection) -> bool:
    server, _, own = (tool.mcp or "").partition("/")
    return (
        bool(own)
        and server == section.mcp
        and name == member_name(group, own)
        and is_included(section, own)
    )
