"""Find the function behind `server/tool`: a tool of an MCP server, or an operation of an API."""

from coterie.activities.mcp_client.server_pool import McpServers
from coterie.activities.tool_functions.apis.api_function import ApiFunction, Apis
from coterie.activities.tool_functions.functions.mcp_function import McpFunction, mcp_function
from coterie.activities.tool_functions.temporal.workflow_function import WorkflowFunction, Workflows
from coterie.activities.workspace.function_failures import FunctionRefusal
from coterie.dsl.errors import listed, nearest

ServerFunction = McpFunction | ApiFunction | WorkflowFunction


def server_function(
    name: str,
    listing: str | None,
    servers: McpServers | None,
    apis: Apis | None,
    workflows: Workflows | None = None,
) -> ServerFunction:
    """Return what a worker's server offers.

    Args:
        name: `server/tool`.
        listing: Its digest in the plan.
        servers: The MCP servers of the worker.
        apis: Its HTTP APIs, whose names differ from those of MCP servers.
        workflows: What it may signal or wait for; a name without a server is one of these.

    Raises:
        FunctionRefusal: The worker has no such server.
    """
    if workflows is not None and "/" not in name:
        return WorkflowFunction(name, workflows, listing or "")
    server, _, tool = name.partition("/")
    if apis is not None and server in apis.apis:
        return ApiFunction(server, tool, apis, listing)
    if apis is not None and apis.apis and (servers is None or server not in servers.servers):
        known = (*(() if servers is None else servers.servers), *apis.apis)
        raise FunctionRefusal(
            f"this worker has no API or MCP server {server!r}; its configuration has "
            f"{listed(known)}. {nearest(server, known)}".rstrip(". ")
        )
    return mcp_function(name, listing, servers)
