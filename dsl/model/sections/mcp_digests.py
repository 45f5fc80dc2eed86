"""Digests that pin what MCP servers offer."""

import json
from hashlib import sha256

from coterie.dsl.model.capabilities import ServerTool
from coterie.dsl.model.sections.mcp_document import McpServerSection
from coterie.dsl.values import JsonValue


def digest_of_tool(tool: ServerTool) -> str:
    """Return the digest of a tool as its server lists it; the order of keys does not count."""
    return _digest(tool.model_dump(mode="json"))


def digest_of_address(section: McpServerSection) -> str:
    """Return the digest of where a server is: its command or address."""
    return _digest([*section.command] if section.command else section.url)


def _digest(value: JsonValue) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()
