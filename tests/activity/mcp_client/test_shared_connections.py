"""Many calls share a connection: what a status rules out, listings, and the end of a connection."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from coterie.activities.mcp_client.server_pool import McpServers
from coterie.dsl.model.sections.mcp_document import McpServerSection, digest_of_tool
from tests.support.servers.mcp_sessions import SessionServer, session_server
from tests.support.servers.mcp_tools import call_tool, failure_of, mcp_servers


@asynccontextmanager
async def connected(
    folder: Path, effect: str = "once"
) -> AsyncGenerator[tuple[SessionServer, McpServers, str]]:
    """A server, the connections to it, and the digest of its tool."""
    async with session_server() as server:
        given = {"url": server.url, "tools": {"*": {"effect": effect}}}
        section = McpServerSection.model_validate(given)
        async with mcp_servers(folder, {"web": section}) as servers:
            [tool] = (await servers.list_tools("web")).tools
            yield server, servers, digest_of_tool(tool)


@pytest.mark.parametrize("status", [404, 429])
async def test_a_call_that_the_server_did_not_take_is_sent_again(
    tmp_path: Path, status: int
) -> None:
    async with connected(tmp_path) as (server, servers, digest):
        server.refuse["tools/call"] = [status]
        assert await call_tool(servers, "web/act", digest) == "done"
        assert (server.asked["tools/call"], server.done) == (2, 1)
        assert server.asked["initialize"] == 2


@pytest.mark.parametrize(
    ("effect", "status", "type", "final"),
    [
        ("once", 500, "OutcomeUnknown", True),
        ("once", 502, "OutcomeUnknown", True),
        ("read", 500, "FunctionFailed", False),
        ("once", 401, "FunctionRefused", True),
        ("read", 403, "FunctionRefused", True),
    ],
)
async def test_a_status_fails_a_call_by_what_it_rules_out(
    tmp_path: Path, effect: str, status: int, type: str, final: bool
) -> None:
    async with connected(tmp_path, effect) as (server, servers, digest):
        server.refuse["tools/call"] = [status, status]
        error = await failure_of(servers, "web/act", digest)
        assert (error.type, error.non_retryable) == (type, final)
        assert server.asked["tools/call"] == 1


async def test_first_calls_at_the_same_time_share_a_listing(tmp_path: Path) -> None:
    async with connected(tmp_path, "read") as (server, servers, digest):
        await servers.close()
        server.asked.clear()
        calls = (call_tool(servers, "web/act", digest) for _ in range(5))
        assert await asyncio.gather(*calls) == ["done"] * 5
        assert server.asked["tools/list"] == 1


async def test_calls_that_list_first_share_a_listing_that_began_after_them(
    tmp_path: Path,
) -> None:
    async with connected(tmp_path) as (server, servers, digest):
        server.asked.clear()
        calls = (call_tool(servers, "web/act", digest) for _ in range(5))
        assert await asyncio.gather(*calls) == ["done"] * 5
        assert server.asked["tools/list"] <= 2


async def test_a_listing_that_fails_does_not_end_the_calls_of_others(tmp_path: Path) -> None:
    async with connected(tmp_path) as (server, servers, digest):
        server.hold = asyncio.Event()
        first = asyncio.create_task(call_tool(servers, "web/act", digest))
        await server.held.wait()
        server.refuse["tools/list"] = [500]
        second = asyncio.create_task(call_tool(servers, "web/act", digest))
        server.held.clear()
        await server.held.wait()  # over another connection
        assert server.asked["initialize"] == 2
        server.hold.set()
        assert await asyncio.gather(first, second) == ["done", "done"]


async def test_closing_ends_calls_in_progress(tmp_path: Path) -> None:
    async with connected(tmp_path) as (server, servers, digest):
        server.hold = asyncio.Event()
        calling = asyncio.create_task(failure_of(servers, "web/act", digest))
        await server.held.wait()
        await servers.close()
        assert (await calling).type == "OutcomeUnknown"
