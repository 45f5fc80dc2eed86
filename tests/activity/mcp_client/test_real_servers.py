"""Servers from PyPI and npm, as people use them."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import JsonValue

from coterie.dsl.model.sections.mcp_document import McpServerSection
from tests.stand_in.install import install, mcp_command
from tests.support.servers.mcp_tools import call_tool, digests, failure_of, listing_of, mcp_servers
from tests.support.tool_functions import environment


def section(module: str, *arguments: str) -> McpServerSection:
    return McpServerSection(command=(sys.executable, "-m", module, *arguments))


def npm_section(server: str, *arguments: str, **terms: object) -> McpServerSection:
    install()
    given = {"command": [*mcp_command(server), *arguments], **terms}
    return McpServerSection.model_validate(given)


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
        assert error.type == "OutcomeUnknown"  # these tools have no configured effect
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


async def test_the_filesystem_server_reads_in_its_folder_alone(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/new.txt").write_text("hello")
    (tmp_path / "secret.txt").write_text("s3cret")
    folder = str(tmp_path / "shared")
    async with mcp_servers(tmp_path, {"files": npm_section("filesystem", folder)}) as servers:
        listing = await listing_of(servers, "files")
        known = digests(listing)
        assert all(tool.output_schema is not None for tool in listing.tools)
        data = await call_tool(
            servers, "files/read_text_file", known["read_text_file"], {"path": f"{folder}/new.txt"}
        )
        assert data == {"content": "hello"}
        given: dict[str, JsonValue] = {"path": f"{folder}/../secret.txt"}
        error = await failure_of(servers, "files/read_text_file", known["read_text_file"], given)
        assert error.type == "OutcomeUnknown"  # these tools have no configured effect
        assert "s3cret" not in error.message


async def test_a_tool_of_a_real_server_that_changed_is_refused_by_name(tmp_path: Path) -> None:
    section = npm_section("filesystem", str(tmp_path))
    async with mcp_servers(tmp_path, {"files": section}) as servers:
        error = await failure_of(servers, "files/read_text_file", "0" * 64, {"path": "new.txt"})
    assert (error.type, error.non_retryable) == ("ToolChanged", True)


async def test_a_long_call_of_a_real_server_is_cancelled_and_its_connection_goes_on(
    tmp_path: Path,
) -> None:
    section = npm_section("everything", "stdio", tools={"*": {"effect": "read"}})
    async with mcp_servers(tmp_path, {"every": section}) as servers:
        known = digests(await listing_of(servers, "every"))
        tool, at = "trigger-long-running-operation", environment()
        given: dict[str, JsonValue] = {"duration": 600, "steps": 2}
        long = asyncio.create_task(call_tool(servers, f"every/{tool}", known[tool], given, at=at))
        said = [
            await call_tool(servers, "every/echo", known["echo"], {"message": "beside it"}),
        ]
        at.cancel()
        with pytest.raises(asyncio.CancelledError):
            await long
        said.append(await call_tool(servers, "every/echo", known["echo"], {"message": "after it"}))
    assert said == ["Echo: beside it", "Echo: after it"]
