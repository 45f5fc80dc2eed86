"""List the tools of MCP servers and HTTP APIs anew, and record them for the compiler."""

from collections.abc import Collection, Iterable, Sequence

from coterie.activities.mcp_client.call_outcomes import ServerUnreachable
from coterie.activities.mcp_client.server_pool import McpServers
from coterie.activities.tool_functions.missing_packages import needing
from coterie.activities.workspace.function_failures import FunctionFailure
from coterie.documents.api_documents import DocumentUnusable, recorded_api
from coterie.documents.listing_changes import RefreshedListing, overridden_entries
from coterie.documents.server_listings import read_listings, write_listings
from coterie.documents.worker_trust import TrustedConfig
from coterie.dsl.errors import listed, nearest
from coterie.dsl.model.capabilities import ServerListing
from coterie.dsl.model.sections.api_document import ApiSection
from coterie.dsl.model.sections.mcp_document import digest_of_address
from coterie.dsl.model.tools.offer_names import matches_offer
from coterie.failures import CommandError
from coterie.interrupts import run_async
from coterie.settings import Settings
from coterie.worker.surroundings import mcp_servers_of


def refresh_listings(
    trusted: TrustedConfig, settings: Settings, names: Sequence[str]
) -> tuple[RefreshedListing, ...]:
    """Ask MCP servers for their tools, read the documents of APIs, and record both.

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
    apis = {name: api for name, api in trusted.apis.items() if api.openapi is not None}
    known = (*servers, *apis)
    for name in names:
        if name in trusted.apis and name not in apis:
            raise CommandError(f"the API {name!r} has no document; its `calls` are used as written")
        if name not in known:
            hint = nearest(name, known)
            what = "MCP server" if not apis else "API" if not servers else "MCP server or API"
            raise CommandError(
                f"unknown {what} {name!r}; {_places(servers, apis)}. {hint}".rstrip(". ")
            )
    if not known:
        raise CommandError(
            "no MCP server is configured, and no API with a document; add one to "
            "`worker.mcp_servers` or `worker.apis`"
        )
    recorded_listings = _recorded_listings(settings, ignore_unreadable=not names)
    asked = names or known
    results = [_read_api(name, apis[name], settings) for name in asked if name in apis]
    if any(name in servers for name in asked):
        of_mcp = [name for name in asked if name in servers]
        results = [*run_async(_list_servers(trusted, settings, of_mcp)), *results]
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


def _places(servers: Collection[str], apis: Collection[str]) -> str:
    """Say which servers the configuration has, and where."""
    sections = (("`worker.mcp_servers`", servers), ("`worker.apis`", apis))
    found = [f"{section} has {listed(names)}" for section, names in sections if names]
    return ", ".join(found) or "`worker.mcp_servers` has none"


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
    except (ServerUnreachable, FunctionFailure) as failure:
        return RefreshedListing(name, failure=str(failure))
    tools = tuple(sorted(listing.tools, key=lambda tool: tool.name))
    section = trusted.mcp_servers[name]
    now = ServerListing(configuration=digest_of_address(section), tools=tools)
    names = [tool.name for tool in tools]
    return _with_unused_entries(
        RefreshedListing(name, None, now, listing.left_out), section.tools, names
    )


def _read_api(name: str, section: ApiSection, settings: Settings) -> RefreshedListing:
    try:
        listing, left_out = recorded_api(section, settings.project)
    except DocumentUnusable as failure:
        return RefreshedListing(name, failure=str(failure))
    names = [*(tool.name for tool in listing.tools), *section.calls]
    return _with_unused_entries(
        RefreshedListing(name, None, listing, left_out), section.tools, names
    )


def _with_unused_entries(
    listing: RefreshedListing, entries: Iterable[str], names: Sequence[str]
) -> RefreshedListing:
    """Return a listing with the entries of its configuration that have no effect."""
    patterns = [*entries]
    unmatched = tuple(
        pattern for pattern in patterns if not any(matches_offer(name, pattern) for name in names)
    )
    overridden = tuple(overridden_entries(patterns, names))
    return listing._replace(unmatched=unmatched, overridden=overridden)
