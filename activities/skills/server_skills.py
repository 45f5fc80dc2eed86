"""Find the skill behind `server/tool`: a tool of an MCP server, or an operation of an HTTP API."""

from coterie.activities.mcp_client.server_pool import McpServers
from coterie.activities.skills.apis.api_skill import Apis, ApiSkill
from coterie.activities.skills.functions.mcp_skill import McpSkill, mcp_skill
from coterie.activities.workspace.skill_failures import SkillRefusal
from coterie.dsl.errors import listed, nearest

ServerSkill = McpSkill | ApiSkill


def server_skill(
    name: str, listing: str | None, servers: McpServers | None, apis: Apis | None
) -> ServerSkill:
    """Return what a worker's server offers.

    Args:
        name: `server/tool`.
        listing: Its digest in the plan.
        servers: The MCP servers of the worker.
        apis: Its HTTP APIs, whose names differ from those of MCP servers.

    Raises:
        SkillRefusal: The worker has no such server.
    """
    server, _, tool = name.partition("/")
    if apis is not None and server in apis.apis:
        return ApiSkill(server, tool, apis, listing)
    if apis is not None and apis.apis and (servers is None or server not in servers.servers):
        known = (*(() if servers is None else servers.servers), *apis.apis)
        raise SkillRefusal(
            f"this worker has no API or MCP server {server!r}; its configuration has "
            f"{listed(known)}. {nearest(server, known)}".rstrip(". ")
        )
    return mcp_skill(name, listing, servers)
