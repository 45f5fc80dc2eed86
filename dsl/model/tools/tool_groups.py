"""Groups of tools: `{mcp: server}` or `{api: server}` stands for all its tools, or some.

The compiler adds a tool for each member; a persona that names the group offers all of them.
"""

import re
from collections.abc import Mapping
from hashlib import sha256

from coterie.dsl.model.tools.offer_names import kind_of_offer, matches_offer
from coterie.dsl.model.tools.tool_section import (
    ServerGroupSection,
    ServerToolSection,
    ToolSection,
)

MAX_NAME_LENGTH = 64
"""Characters of a tool's name that every vendor takes."""


def member_name(group: str, tool: str, *, taken: bool = False) -> str:
    """Return the name of a group's member: `group_tool`, as every vendor takes it.

    A name that is too long, or taken by another member, ends in a digest of the tool's own name.
    """
    name = f"{group}_{re.sub('[^a-zA-Z0-9_-]', '_', tool)}"
    if len(name) <= MAX_NAME_LENGTH and not taken:
        return name
    digest = sha256(tool.encode()).hexdigest()[:8]
    return f"{name[: MAX_NAME_LENGTH - len(digest) - 1]}_{digest}"


def is_included(section: ServerGroupSection, tool: str) -> bool:
    """Return whether an offer of the server belongs to the group: without `include`, every tool."""
    if not section.include:
        return kind_of_offer(tool) == "tool"
    return any(matches_offer(tool, pattern) for pattern in section.include)


def tool_groups(tools: Mapping[str, ToolSection]) -> dict[str, tuple[str, ...]]:
    """Return `{group: its members}`, in the order of the document."""
    return {
        group: tuple(name for name, tool in tools.items() if _is_member(name, tool, group, section))
        for group, section in tools.items()
        if isinstance(section, ServerGroupSection)
    }


def _is_member(name: str, tool: ToolSection, group: str, section: ServerGroupSection) -> bool:
    server, _, own = tool.made_of.partition("/")
    return (
        isinstance(tool, ServerToolSection)
        and (tool.kind, server) == (section.kind, section.made_of)
        and name in (member_name(group, own), member_name(group, own, taken=True))
        and is_included(section, own)
    )
