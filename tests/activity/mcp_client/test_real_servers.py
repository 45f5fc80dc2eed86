"""Servers from PyPI, as people use them."""

import asyncio
import subprocess
import sys
from pathlib import Path

from dsl.model.sections.mcp_document import McpServerSection
from tests.support.servers.mcp_tools import call_tool, digests, failure_of, listing_of, mcp_servers


def section(module: str, *arguments: str) -> McpServerSection:
    return McpServerSection(command=(sys.executable, "-m", module, *arguments))


async def test_the_time_server_tells_the_time(tmp_path: Path) -> None:
    servers_of = {"time": section("mcp_server_time", "--local-timezone=UTC")}
    async with mcp_servers(tmp_path, servers_of) as servers:
        known = digests(await listing_of(servers, "time"))
        assert set(known) == {"convert_time", "get_current_time"}
        given = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        data = await call_tool(servers, "time/convert_time", known["convert_time"], {**given})
        assert isinstance(data, dict)
        assert data["time_difference"] == "+9.0h"
        wrong = {"timezone": "Moon/Base"}
        error = await failure_of(
            servers, "time/get_current_time", known["get_current_time"], {**wrong}
        )
        assert error.type == "SkillFailed"
        assert "Moon/Base" in error.message


async def test_the_git_server_reads_a_repository(tmp_path: Path) -> None:
    init = ["git", "init", "-q", str(tmp_path)]
    await asyncio.to_thread(subprocess.run, init, check=True)
    (tmp_path / "new.txt").write_text("hello")
    servers_of = {"git": section("mcp_server_git", "--repository", str(tmp_path))}
    async with mcp_servers(tmp_path, servers_of) as servers:
        known = digests(await listing_of(servers, "git"))
        assert {"git_status", "git_commit", "git_diff_staged"} <= set(known)
        data = await call_tool(
            servers, "git/git_status", known["git_status"], {"repo_path": str(tmp_path)}
        )
        assert "new.txt" in str(data)
