"""Resources and prompts of an MCP server are tools that read."""

from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

import pytest
import pytest_asyncio

from coterie.activities.mcp_client.server_pool import McpServers
from coterie.dsl.model.capabilities import ServerTool
from coterie.dsl.model.sections.mcp_document import digest_of_tool
from tests.support.servers.mcp_tools import (
    call_tool,
    demo_section,
    failure_of,
    ledger,
    listing_of,
    mcp_servers,
)

STRING = {"type": "string"}


class Offers:
    """The demo server of a test, and what it offers."""

    def __init__(self, servers: McpServers, tools: Mapping[str, ServerTool]) -> None:
        self.servers = servers
        self.tools = tools

    def digest(self, name: str) -> str:
        return digest_of_tool(self.tools[name])


@pytest_asyncio.fixture(scope="module")
async def demo(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Offers]:
    """One server for all tests: it takes a second to start."""
    folder = tmp_path_factory.mktemp("demo")
    async with mcp_servers(folder, {"demo": demo_section(folder)}) as servers:
        listing = await listing_of(servers, "demo")
        yield Offers(servers, {tool.name: tool for tool in listing.tools})


async def read(demo: Offers, name: str, **given: str) -> object:
    return await call_tool(demo.servers, f"demo/{name}", demo.digest(name), {**given})


async def test_resources_and_prompts_are_listed_with_their_arguments(demo: Offers) -> None:
    notes = demo.tools["resource:my_notes"]
    assert (notes.description, notes.uri) == ("What is to do.", "demo://notes")
    assert notes.input_schema["properties"] == {}
    day = demo.tools["resource:day"]
    assert (day.uri, day.input_schema["properties"]) == ("demo://days/{day}", {"day": STRING})
    assert day.input_schema["required"] == ["day"]
    review = demo.tools["prompt:review"]
    assert review.description == "Asks for a review."
    assert review.input_schema["properties"] == {"topic": STRING, "tone": STRING}
    assert review.input_schema["required"] == ["topic"]


async def test_a_resource_is_read_as_text_that_cannot_control_a_terminal(demo: Offers) -> None:
    assert await read(demo, "resource:my_notes") == "buy milk\\u001b[2J"
    assert await read(demo, "resource:day", day="mon/day") == "mon/day: rain"
    picture = await read(demo, "resource:picture")
    assert picture == "[a file (image/png, 8 bytes), which is not passed on]"


async def test_a_prompt_gives_its_messages(demo: Offers) -> None:
    assert await read(demo, "prompt:review", topic="it", tone="kind") == {
        "messages": [
            {"role": "user", "text": "Review it."},
            {"role": "user", "text": "Be kind.\\u001b[2J"},
        ]
    }


async def test_an_error_while_reading_may_be_retried(demo: Offers) -> None:
    error = await failure_of(demo.servers, "demo/prompt:review", demo.digest("prompt:review"))
    assert (error.type, error.non_retryable) == ("FunctionFailed", False)


async def test_a_resource_that_is_gone_or_has_changed_is_not_read(
    demo: Offers, tmp_path: Path
) -> None:
    error = await failure_of(demo.servers, "demo/resource:diary", "0" * 64)
    assert error.type == "ToolChanged"
    assert "has no resource 'resource:diary' any more; it has resource:day, " in error.message
    error = await failure_of(demo.servers, "demo/resource:my_notes", "0" * 64)
    assert error.type == "ToolChanged"
    assert ledger(tmp_path) == []
