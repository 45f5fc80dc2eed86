"""MCP servers over HTTP: secrets in headers, restarts, servers that are not there."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from coterie.activities.mcp_client.transport.server_transport import MAX_LINE
from coterie.dsl.model.sections.mcp_document import McpServerSection
from tests.support.servers.mcp_tools import (
    DEMO,
    call_tool,
    digests,
    failure_of,
    ledger,
    listing_of,
    mcp_servers,
)
from tests.support.servers.web_server import page, web_server
from tests.support.tool_functions import MAX_WAIT


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@asynccontextmanager
async def serving(folder: Path, port: int) -> AsyncGenerator[None]:
    """The demo server at a port, killed at the end of the block."""
    command = (sys.executable, "-P", str(DEMO), str(folder), str(port))
    child = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.DEVNULL)
    try:
        for _ in range(20 * MAX_WAIT):
            if await _listens(port):
                break
            await asyncio.sleep(0.05)  # between two looks
        yield
    finally:
        os.kill(child.pid, signal.SIGKILL)
        await child.wait()


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except ConnectionError:
        return False
    writer.close()
    return True


async def test_a_server_over_http_is_called_and_found_again_after_its_restart(
    tmp_path: Path,
) -> None:
    port = free_port()
    given = {"url": f"http://127.0.0.1:{port}/mcp", "tools": {"add": {"effect": "read"}}}
    section = McpServerSection.model_validate(given)
    async with mcp_servers(tmp_path, {"demo": section}) as servers:
        async with serving(tmp_path, port):
            known = digests(await listing_of(servers, "demo"))
            assert await call_tool(servers, "demo/add", known["add"], {"a": 1}) == {"total": 2}
        error = await failure_of(servers, "demo/note", known["note"], {"text": "lost?"})
        # the listing before a call that may happen only once shows that nothing was sent
        assert (error.type, error.non_retryable) == ("FunctionFailed", False)
        async with serving(tmp_path, port):
            assert await call_tool(servers, "demo/note", known["note"], {"text": "b"}) == "b"
    assert ledger(tmp_path) == ["add 1 1", "note b"]


async def test_secrets_travel_in_headers_and_a_refusal_is_a_failure(tmp_path: Path) -> None:
    secrets = {"TOKEN": "s3cret", "TEAM": "ants"}
    async with web_server({"*": page(b"no", "text/plain", "401 Unauthorized")}) as web:
        given = {"url": f"{web.url}/mcp", "token_env": "TOKEN", "headers": {"X-Team": "TEAM"}}
        section = McpServerSection.model_validate({**given, "start_timeout": 5})
        async with mcp_servers(tmp_path, {"web": section}, secrets=secrets) as servers:
            assert servers.servers["web"].headers == {
                "Authorization": "Bearer s3cret",
                "X-Team": "ants",
            }
            assert "s3cret" not in repr(servers.servers["web"])
            error = await failure_of(servers, "web/add", "0" * 64)
        assert web.asked
    assert error.type == "FunctionFailed"
    assert "the MCP server 'web' cannot be reached" in error.message


async def test_an_answer_without_end_is_not_read_into_memory(tmp_path: Path) -> None:
    answers = {
        "/large": page(b"[" + b" " * MAX_LINE, "application/json"),
        "/packed": page(b"{}", "application/json", "200 OK", "Content-Encoding: gzip"),
    }
    async with web_server(answers) as web:
        reasons = {"large": "more than 20000000 bytes", "packed": "the answer is compressed"}
        sections = {
            name: McpServerSection(url=f"{web.url}/{name}", start_timeout=20) for name in reasons
        }
        async with mcp_servers(tmp_path, sections) as servers:
            for name, reason in reasons.items():
                error = await failure_of(servers, f"{name}/add", "0" * 64)
                assert error.type == "FunctionFailed"
                assert f"the MCP server {name!r} cannot be reached: " in error.message
                assert reason in error.message
