"""What configured servers offer: contracts from their recorded listings, by the worker's terms.

The hints of an MCP server never relax anything: a tool is `once`, `untrusted` and `egress` unless
the worker's configuration says otherwise. An operation of an HTTP API has the effect of its method.
"""

from collections.abc import Mapping

from coterie.dsl.apis.declared_calls import agent_message, declared_call
from coterie.dsl.model.capabilities import (
    Capabilities,
    Effect,
    Label,
    ServerContract,
    ServerListing,
    ServerState,
    ServerTool,
)
from coterie.dsl.model.sections.api_document import ApiSection, digest_of_api
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
    capabilities: Capabilities,
    servers: Mapping[str, McpServerSection],
    apis: Mapping[str, ApiSection],
) -> Capabilities:
    """Return the capabilities with these MCP servers, HTTP APIs and their tools, as recorded."""
    states, tools = dict(capabilities.server_states), dict(capabilities.server_tools)
    sections: dict[str, McpServerSection | ApiSection] = {**servers, **apis}
    for name, section in sections.items():
        states[name] = _state(section, capabilities.server_listings.get(name))
        tools = {
            tool_name: contract
            for tool_name, contract in tools.items()
            if server_of(tool_name) != name
        }
        if states[name].is_listed == "listed":
            offers = tools_of(section, capabilities.server_listings.get(name))
            tools |= {f"{name}/{tool.name}": contract_of(name, section, tool) for tool in offers}
    return capabilities.model_copy(update={"server_states": states, "server_tools": tools})


def tools_of(
    section: McpServerSection | ApiSection, listing: ServerListing | None
) -> tuple[ServerTool, ...]:
    """Return the tools of a server: those of its listing, and the declared calls of an API."""
    listed = () if listing is None else listing.tools
    if isinstance(section, McpServerSection):
        return listed
    if section.agent is not None:
        return (agent_message(section),)
    own = section.calls
    recorded = () if section.openapi is None else listed
    calls = (declared_call(name, call) for name, call in own.items())
    return (*(tool for tool in recorded if tool.name not in own), *calls)


def server_of(tool: str) -> str:
    """Return the server of `server/tool`."""
    return tool.partition("/")[0]


def contract_of(
    server: str, section: McpServerSection | ApiSection, tool: ServerTool
) -> ServerContract:
    """Return the contract of one tool of a server."""
    terms = section.terms_of(tool.name)
    if isinstance(section, McpServerSection):
        effect, schema = section.effect_of(tool.name), _close_schema(tool.input_schema)
    else:
        effect, schema = section.effect_of(tool), _without_given(section, tool)
    return ServerContract(
        name=f"{server}/{tool.name}",
        kind="mcp" if isinstance(section, McpServerSection) else "api",
        description=tool.description,
        effect=effect,
        input_schema=schema,
        output_schema=tool.output_schema or {},
        timeout=terms.timeout or section.timeout,
        retries=0 if effect == "once" else _RETRIES if terms.retries is None else terms.retries,
        labels=_labels(tool, schema, effect) if terms.labels is None else terms.labels,
        listing=digest_of_tool(tool),
        local_activity=terms.local_activity,
    )


def _labels(tool: ServerTool, schema: Json, effect: Effect) -> tuple[Label, ...]:
    """Return the labels of an offer that the worker's configuration says nothing about.

    A resource, a prompt or a read of an API sends nothing out if it has no arguments.
    """
    only_reads = kind_of_offer(tool.name) != "tool" or (
        tool.request is not None and effect == "read"
    )
    return STRICTEST if schema.get("properties") or not only_reads else ("untrusted",)


def _without_given(section: ApiSection, tool: ServerTool) -> Json:
    """Return the schema of an operation's arguments without those that the worker gives."""
    parameters = () if tool.request is None else tool.request.parameters
    terms = section.terms_of(tool.name)
    given = {one.argument for one in parameters if section.gives(one, terms)}
    schema = tool.input_schema
    properties, required = schema.get("properties"), schema.get("required")
    if not given or not isinstance(properties, dict):
        return schema
    left: Json = {name: part for name, part in properties.items() if name not in given}
    needed = [name for name in required if name not in given] if isinstance(required, list) else []
    return {**schema, "properties": left, "required": needed}


def _close_schema(schema: Json) -> Json:
    """Return the schema without arguments that it does not name: servers ignore those."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or any(key in schema for key in _OPEN):
        return schema
    return {**schema, "additionalProperties": False}


def _state(section: McpServerSection | ApiSection, listing: ServerListing | None) -> ServerState:
    if isinstance(section, McpServerSection):
        kind, address = "mcp", digest_of_address(section)
    elif section.openapi is None:
        return ServerState("api", "listed")
    else:
        kind, address = "api", digest_of_api(section)
    if listing is None:
        return ServerState(kind, "unlisted")
    if listing.configuration != address:
        return ServerState(kind, "moved")
    return ServerState(kind, "changed" if listing.changes else "listed", listing.changes)
