"""MCP servers of a test, and calls of their tools as Temporal makes them."""

import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from pydantic import JsonValue
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from coterie.activities.contracts import FunctionRequest
from coterie.activities.mcp_client.server_pool import McpServers
from coterie.activities.mcp_client.server_settings import McpServer
from coterie.activities.tool_functions.function_activity import FunctionActivities
from coterie.activities.workspace.function_base import Workspace
from coterie.dsl.model.capabilities import ServerListing
from coterie.dsl.model.sections.mcp_document import McpServerSection, digest_of_tool
from coterie.dsl.model.tools.asked_input import AskedInput, GivenInput
from coterie.dsl.values import Json
from tests.support.programs.script_server import forked
from tests.support.tool_functions import environment

DEMO = Path(__file__).parent / "mcp_demo.py"
OLDER = Path(__file__).parent / "mcp_older.py"
HOSTILE = Path(__file__).parent / "mcp_hostile.py"
TASKS = Path(__file__).parent / "mcp_tasks.py"


def demo_section(folder: Path, **more: object) -> McpServerSection:
    """The configuration of the server of `mcp_demo.py`."""
    return McpServerSection.model_validate({"command": forked(DEMO, str(folder)), **more})


def older_section(folder: Path, **more: object) -> McpServerSection:
    """The configuration of the same server as it was before protocol 2026-07-28."""
    command = (sys.executable, "-P", str(OLDER), *forked(DEMO, str(folder)))
    return McpServerSection.model_validate({"command": command, **more})


def tasks_section(folder: Path, **more: object) -> McpServerSection:
    """The configuration of the server of `mcp_tasks.py`."""
    return McpServerSection.model_validate({"command": forked(TASKS, str(folder)), **more})


@asynccontextmanager
async def mcp_servers(
    folder: Path,
    sections: Mapping[str, McpServerSection],
    recorded: Mapping[str, ServerListing] | None = None,
    secrets: Mapping[str, str] | None = None,
) -> AsyncGenerator[McpServers]:
    """The servers, closed afterwards."""
    known = {
        name: McpServer(name, one, folder, values=secrets or {}) for name, one in sections.items()
    }
    made = McpServers(known, lambda: recorded or {})
    try:
        yield made
    finally:
        await made.close()


async def listing_of(servers: McpServers, server: str) -> ServerListing:
    """What the server offers now."""
    return ServerListing(configuration="", tools=(await servers.list_tools(server)).tools)


def digests(listing: ServerListing) -> dict[str, str]:
    """`{tool: its digest}`."""
    return {tool.name: digest_of_tool(tool) for tool in listing.tools}


async def call_tool(
    servers: McpServers,
    tool: str,
    digest: str,
    arguments: Json | None = None,
    *,
    at: ActivityEnvironment | None = None,
    given: GivenInput | None = None,
) -> JsonValue:
    """Call `server/tool` of a plan with this digest."""
    folder = next(iter(servers.servers.values())).folder
    activities = FunctionActivities(Workspace(folder), servers=servers)
    request = FunctionRequest(
        skill=tool,
        input=arguments or {},
        key="run-1/coder#1/apply",
        listing=digest,
        given_input=given,
    )
    return (await (at or environment()).run(activities.call_function, request)).data


async def failure_of(
    servers: McpServers,
    tool: str,
    digest: str,
    arguments: Json | None = None,
    given: GivenInput | None = None,
    at: ActivityEnvironment | None = None,
) -> ApplicationError:
    """The error that such a call ends in."""
    try:
        result = await call_tool(servers, tool, digest, arguments, given=given, at=at)
    except ApplicationError as error:
        return error
    raise AssertionError(f"{tool} was expected to fail and returned {result}")


def asked_by(error: ApplicationError) -> AskedInput:
    """What a tool asks, from the failure of its call."""
    assert error.type == "InputRequired", error.message
    return AskedInput.model_validate(error.details[1])


def ledger(folder: Path) -> Sequence[str]:
    """The calls that the server of `mcp_demo.py` noted."""
    path = folder / "ledger"
    return path.read_text().splitlines() if path.exists() else []
