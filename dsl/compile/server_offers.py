"""What configured MCP servers offer: contracts from their recorded listings, by the worker's terms.

A server's own hints never relax anything: a tool is `once`, `untrusted` and `egress` unless the
worker's configuration says otherwise.
"""

from collections.abc import Mapping

from coterie.dsl.model.capabilities import (
    Capabilities,
    Label,
    McpContract,
    ServerListing,
    ServerState,
    ServerTool,
)
from coterie.dsl.model.sections.mcp_document import (
    McpServerSection,
    digest_of_address,
    digest_of_tool,
)
from coterie.dsl.model.tools.offer_names import kind_of_offer
from coterie.dsl.values import Json

STRICTEST: tuple[Label, ...] = ("untrusted", "egress")
"""The labels of a tool that the worker's configuration says nothing about."""

_RETRIES = 2
_OPEN = ("additionalProperties", "patternProperties", "$ref", "allOf", "anyOf", "oneOf")
"""Keywords by which a schema says itself what else an object may have."""


def with_servers(
    capabilities: Capabilities, servers: Mapping[str, McpServerSection]
) -> Capabilities:
    """Return the capabilities with these MCP servers and their tools, as recorded."""
    states, tools = dict(capabilities.mcp_servers), dict(capabilities.mcp_tools)
    for name, section in servers.items():
        listing = capabilities.mcp_listings.get(name)
        states[name] = _state(section, listing)
        tools = {
            tool_name: contract
            for tool_name, contract in tools.items()
            if server_of(tool_name) != name
        }
        if listing is not None and states[name] == "listed":
            tools |= {
                f"{name}/{tool.name}": contract_of(name, section, tool) for tool in listing.tools
            }
    return capabilities.model_copy(update={"mcp_servers": states, "mcp_tools": tools})


def server_of(tool: str) -> str:
    """Return the server of `server/tool`."""
    return tool.partition("/")[0]


def contract_of(server: str, section: McpServerSection, tool: ServerTool) -> McpContract:
    """Return the contract of one tool of a server."""
    terms = section.terms_of(tool.name)
    effect = section.effect_of(tool.name)
    return McpContract(
        name=f"{server}/{tool.name}",
        description=tool.description,
        effect=effect,
        input_schema=_close_schema(tool.input_schema),
        output_schema=tool.output_schema or {},
        timeout=terms.timeout or section.timeout,
        retries=0 if effect == "once" else _RETRIES if terms.retries is None else terms.retries,
        labels=_labels(tool) if terms.labels is None else terms.labels,
        listing=digest_of_tool(tool),
        local_activity=terms.local_activity,
    )


def _labels(tool: ServerTool) -> tuple[Label, ...]:
    """Return the labels of an offer that the worker's configuration says nothing about.

    A resource or prompt without arguments sends nothing out.
    """
    sends = kind_of_offer(tool.name) == "tool" or bool(tool.input_schema.get("properties"))
    return STRICTEST if sends else ("untrusted",)


def _close_schema(schema: Json) -> Json:
    """Return the schema without arguments that it does not name: servers ignore those."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or any(key in schema for key in _OPEN):
        return schema
    return {**schema, "additionalProperties": False}


def _state(section: McpServerSection, listing: ServerListing | None) -> ServerState:
    if listing is None:
        return "unlisted"
    return "listed" if listing.configuration == digest_of_address(section) else "moved"
