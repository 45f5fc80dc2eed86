"""List the tools of MCP servers anew, and record them for the compiler."""

from collections.abc import Sequence

from coterie.activities.mcp_client.call_outcomes import ServerUnreachable
from coterie.activities.mcp_client.server_pool import McpServers
from coterie.activities.skills.missing_packages import needing
from coterie.activities.workspace.skill_failures import SkillFailure
from coterie.documents.listing_changes import RefreshedListing, overridden_entries
from coterie.documents.mcp_listings import read_listings, write_listings
from coterie.documents.worker_trust import TrustedConfig
from coterie.dsl.errors import listed, nearest
from coterie.dsl.model.capabilities import ServerListing
from coterie.dsl.model.sections.mcp_document import digest_of_address
from coterie.dsl.model.tools.offer_names import matches_offer
from coterie.failures import CommandError
from coterie.interrupts import run_async
from coterie.settings import Settings
from coterie.worker.surroundings import mcp_servers_of


def refresh_listings(
    trusted: TrustedConfig, settings: Settings, names: Sequence[str]
) -> tuple[RefreshedListing, ...]:
    """Ask servers for their tools, and record the answers.

    Args:
        trusted: The worker's configuration.
        settings: The command's settings.
        names: The servers; empty for all configured ones, which drops others from the file.

    Returns:
        What each server came to; one that does not answer keeps its recorded listing.

    Raises:
        CommandError: A server is unknown, or the file cannot be read or written.
    """
    servers = trusted.mcp_servers
    for name in names:
        if name not in servers:
            hint = nearest(name, servers)
            raise CommandError(
                f"unknown MCP server {name!r}; `worker.mcp_servers` has "
                f"{listed(servers) or 'none'}. {hint}".rstrip(". ")
            )
    if not servers:
        raise CommandError("no MCP server is configured; add one to `worker.mcp_servers`")
    recorded_listings = _recorded_listings(settings, ignore_unreadable=not names)
    results = run_async(_list_servers(trusted, settings, names or tuple(servers)))
    refreshes = tuple(result.since(recorded_listings.get(result.server)) for result in results)
    failed_servers = {refresh.server for refresh in refreshes if refresh.failure}
    old_listings = {
        name: listing
        for name, listing in recorded_listings.items()
        if names or name in failed_servers
    }
    fresh = {
        refresh.server: refresh.now
        for refresh in refreshes
        if refresh.now is not None and not refresh.failure
    }
    listings = {**old_listings, **fresh}
    if fresh or listings != recorded_listings:
        write_listings(settings, listings)
    return refreshes


def _recorded_listings(settings: Settings, *, ignore_unreadable: bool) -> dict[str, ServerListing]:
    try:
        return read_listings(settings)
    except CommandError:
        if ignore_unreadable:  # the file is written anew as a whole
            return {}
        raise


async def _list_servers(
    trusted: TrustedConfig, settings: Settings, names: Sequence[str]
) -> list[RefreshedListing]:
    servers = mcp_servers_of(trusted, settings)
    try:
        return [await _one(name, trusted, servers) for name in names]
    finally:
        await servers.close()


async def _one(name: str, trusted: TrustedConfig, servers: McpServers) -> RefreshedListing:
    try:
        with needing("mcp", f"the MCP server {name!r}"):
            listing = await servers.list_tools(name)
    except (ServerUnreachable, SkillFailure) as failure:
        return RefreshedListing(name, failure=str(failure))
    tools = tuple(sorted(listing.tools, key=lambda tool: tool.name))
    address = digest_of_address(trusted.mcp_servers[name])
    now = ServerListing(configuration=address, tools=tools)
    unmatched_entries = tuple(
        pattern
        for pattern in trusted.mcp_servers[name].tools
        if not any(matches_offer(tool.name, pattern) for tool in tools)
    )
    entries = trusted.mcp_servers[name].tools
    overridden = tuple(overridden_entries(entries, [tool.name for tool in tools]))
    return RefreshedListing(name, None, now, listing.left_out, unmatched_entries, overridden)
