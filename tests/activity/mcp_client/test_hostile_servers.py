"""A hostile MCP server cannot stop a worker, reach a terminal, or pass for another tool."""

import asyncio
import sys
from pathlib import Path

import pytest

from coterie.activities.mcp_client.transport.server_transport import MAX_LINE
from coterie.dsl.model.sections.mcp_document import McpServerSection, digest_of_tool
from tests.support.servers.mcp_tools import (
    HOSTILE,
    asked_by,
    call_tool,
    digests,
    failure_of,
    listing_of,
    mcp_servers,
)
from tests.support.tool_functions import environment


def hostile(way: str, **more: object) -> McpServerSection:
    command = [sys.executable, "-P", str(HOSTILE), way]
    given = {"command": command, "tools": {"*": {"effect": "read"}}, **more}
    return McpServerSection.model_validate(given)


async def test_tools_that_cannot_be_offered_are_left_out_by_name(tmp_path: Path) -> None:
    async with mcp_servers(tmp_path, {"bad": hostile("noise")}) as servers:
        found = await servers.list_tools("bad")
    assert [tool.name for tool in found.tools] == ["good", "evil"]
    reasons = {one.name: one.why for one in found.left_out}
    assert reasons["bad\\u001bname"] == "its name is empty, too long, or not printable"
    assert "more than 100000" in reasons["huge"]
    assert "its schema is not a valid JSON Schema" in reasons["wrong"]


async def test_noise_on_the_connection_is_skipped(tmp_path: Path) -> None:
    async with mcp_servers(tmp_path, {"bad": hostile("noise")}) as servers:
        known = digests(await listing_of(servers, "bad"))
        assert await call_tool(servers, "bad/good", known["good"]) == {"s": "a" * 40 + "!"}


async def test_a_pattern_of_a_server_cannot_stop_the_worker(tmp_path: Path) -> None:
    async with mcp_servers(tmp_path, {"bad": hostile("lies")}) as servers:
        known = digests(await listing_of(servers, "bad"))
        # a backtracking matcher takes hours for this result
        async with asyncio.timeout(60):
            error = await failure_of(servers, "bad/evil", known["evil"])
    assert error.type == "FunctionFailed"
    assert "bad/evil returned a result that violates its contract" in error.message


async def test_a_number_that_json_has_not_is_no_result_and_no_schema(tmp_path: Path) -> None:
    async with mcp_servers(tmp_path, {"bad": hostile("infinite")}) as servers:
        found = await servers.list_tools("bad")
        (tool,) = found.tools
        error = await failure_of(servers, f"bad/{tool.name}", digest_of_tool(tool))
    assert [(one.name, one.why) for one in found.left_out] == [
        ("odd", "'input.properties.n.default' is not a JSON number (NaN or infinite)")
    ]
    assert error.type == "FunctionFailed"
    assert "'the result.s.1' is not a JSON number" in error.message


async def test_a_listing_without_end_is_bounded(tmp_path: Path) -> None:
    async with mcp_servers(tmp_path, {"bad": hostile("flood")}) as servers:
        assert len((await servers.list_tools("bad")).tools) == 1


async def test_a_server_with_too_many_tools_is_read_no_further(tmp_path: Path) -> None:
    async with mcp_servers(tmp_path, {"bad": hostile("many")}) as servers:
        found = await servers.list_tools("bad")
    assert found.tools == ()
    assert len(found.left_out) == 101
    assert found.left_out[0].why == "the server has more than 1000 tools"
    assert found.left_out[-1].why == "and 901 more"


@pytest.mark.parametrize(
    ("code", "read", "once"),
    [
        (-32600, ("FunctionFailed", False), ("OutcomeUnknown", True)),
        (-32603, ("FunctionFailed", False), ("OutcomeUnknown", True)),
        (-32601, ("FunctionRefused", True), ("FunctionRefused", True)),
        (-32602, ("FunctionRefused", True), ("FunctionRefused", True)),
    ],
)
async def test_an_error_during_a_call_counts_by_what_it_rules_out(
    tmp_path: Path, code: int, read: tuple[str, bool], once: tuple[str, bool]
) -> None:
    section = hostile("errors", tools={"good": {"effect": "read"}})
    async with mcp_servers(tmp_path, {"bad": section}) as servers:
        known = digests(await listing_of(servers, "bad"))
        error = await failure_of(servers, "bad/good", known["good"], {"n": code})
        assert (error.type, error.non_retryable) == read
        error = await failure_of(servers, "bad/evil", known["evil"], {"n": code})
        assert (error.type, error.non_retryable) == once


async def test_a_question_belongs_to_the_call_that_was_in_progress(tmp_path: Path) -> None:
    section = hostile("errors", tools={"good": {"effect": "read"}})
    async with mcp_servers(tmp_path, {"bad": section}) as servers:
        known = digests(await listing_of(servers, "bad"))
        error = await failure_of(servers, "bad/good", known["good"], {"n": 0})
        assert "nobody can answer it here: Which one?" in error.message
        assert [one.message for one in asked_by(error).questions.values()] == ["Which one?"]
        error = await failure_of(servers, "bad/evil", known["evil"], {"n": 0})
        assert (error.type, error.non_retryable) == ("OutcomeUnknown", True)
        assert "may be called only once, so nobody can answer it: Which one?" in error.message
        assert error.details[1:] == ()  # at most the usage, and no question
        error = await failure_of(servers, "bad/good", known["good"], {"n": -32603})
        assert (error.type, "it broke" in error.message) == ("FunctionFailed", True)


@pytest.mark.parametrize(
    ("way", "said"), [("silent", "did not answer within 3 s"), ("garbled", "broke the protocol")]
)
async def test_a_call_without_an_answer_may_be_repeated_only_if_it_reads(
    tmp_path: Path, way: str, said: str
) -> None:
    once = hostile(way, tools={"good": {"effect": "read"}})
    at = environment(timeout=3)
    async with mcp_servers(tmp_path, {"bad": once}) as servers:
        known = digests(await listing_of(servers, "bad"))
        error = await failure_of(servers, "bad/good", known["good"], at=at)
        assert (error.type, error.non_retryable) == ("FunctionFailed", False)
        assert said in error.message
        error = await failure_of(servers, "bad/evil", known["evil"], at=at)
        assert (error.type, error.non_retryable) == ("OutcomeUnknown", True)


async def test_a_line_without_end_ends_the_connection_and_not_the_worker(tmp_path: Path) -> None:
    section = hostile("endless", tools={"good": {"effect": "read"}})
    async with mcp_servers(tmp_path, {"bad": section}) as servers:
        known = digests(await listing_of(servers, "bad"))
        error = await failure_of(servers, "bad/good", known["good"])
        assert (error.type, error.non_retryable) == ("FunctionFailed", False)
        assert f"a line of its output has more than {MAX_LINE} bytes" in error.message
        error = await failure_of(servers, "bad/evil", known["evil"])  # over a new connection
        assert (error.type, error.non_retryable) == ("OutcomeUnknown", True)


async def test_a_table_of_malformed_tools_does_not_take_the_sound_ones(tmp_path: Path) -> None:
    async with mcp_servers(tmp_path, {"bad": hostile("malformed")}) as servers:
        found = await servers.list_tools("bad")
        assert [tool.name for tool in found.tools] == ["good", "last"]
        assert len(found.left_out) >= 30
        assert await call_tool(servers, "bad/last", digest_of_tool(found.tools[1]))


async def test_half_a_character_does_not_take_its_answer(tmp_path: Path) -> None:
    async with mcp_servers(tmp_path, {"bad": hostile("half")}) as servers:
        known = digests(await listing_of(servers, "bad"))
        assert await call_tool(servers, "bad/good", known["good"]) == "\ufffd"


@pytest.mark.parametrize(
    ("way", "why"),
    [
        ("asking", "it asks more and more without reading the answers"),
        ("unasked", "it sent more than 10000 messages that nobody asked for"),
        ("dense", "a line of its output has more than 500000 values"),
    ],
)
async def test_a_server_that_floods_its_worker_is_ended(way: str, why: str, tmp_path: Path) -> None:
    async with mcp_servers(tmp_path, {"bad": hostile(way)}) as servers:
        known = digests(await listing_of(servers, "bad"))
        error = await failure_of(servers, "bad/good", known["good"])
    assert why in error.message
