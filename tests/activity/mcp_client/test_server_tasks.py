"""A server continues a call as a task: asked for until it ends, and never begun twice."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from coterie.activities.mcp_client.server_pool import McpServers
from coterie.dsl.model.tools.asked_input import AskedInput, GivenInput
from tests.support.servers.mcp_tools import (
    asked_by,
    call_tool,
    digests,
    failure_of,
    ledger,
    listing_of,
    mcp_servers,
    tasks_section,
)
from tests.support.tool_functions import MAX_WAIT, environment
from tests.support.watching.processes import children


@asynccontextmanager
async def begun(
    folder: Path, effect: str = "once"
) -> AsyncGenerator[tuple[McpServers, str, AskedInput]]:
    """A task of the server, as the call that began it has it."""
    section = tasks_section(folder, tools={"*": {"effect": effect}})
    async with mcp_servers(folder, {"ci": section}) as servers:
        digest = digests(await listing_of(servers, "ci"))["build"]
        asked = asked_by(await failure_of(servers, "ci/build", digest))
        assert (asked.continues, asked.task and asked.task.id) == (True, "t-1")
        assert ledger(folder) == ["call"]
        yield servers, digest, asked


def state(folder: Path, name: str) -> None:
    (folder / "state").write_text(name)


async def until_asked(folder: Path) -> None:
    """Wait until the server has been asked for its task."""
    for _ in range(50 * MAX_WAIT):
        if any(line.startswith("get") for line in ledger(folder)):
            return
        await asyncio.sleep(0.02)  # between two looks
    raise AssertionError("nobody asked")


@pytest.mark.parametrize(
    ("name", "words"),
    [("wrong", "ci/build failed: it broke"), ("failed", "no disk"), ("cancelled", "was cancelled")],
)
async def test_a_task_that_fails_is_a_failed_call(tmp_path: Path, name: str, words: str) -> None:
    async with begun(tmp_path) as (servers, digest, asked):
        state(tmp_path, name)
        given = GivenInput(asked=asked)
        error = await failure_of(servers, "ci/build", digest, given=given)
    assert (error.type, error.non_retryable) == ("OutcomeUnknown", True)
    assert words in error.message


async def test_a_task_is_followed_to_its_result_and_through_the_death_of_its_server(
    tmp_path: Path,
) -> None:
    async with begun(tmp_path) as (servers, digest, asked):
        given = GivenInput(asked=asked)
        following = asyncio.create_task(call_tool(servers, "ci/build", digest, given=given))
        await until_asked(tmp_path)
        [child] = _children()
        os.kill(child, signal.SIGKILL)
        state(tmp_path, "completed")
        assert await following == "built"
    assert ledger(tmp_path).count("call") == 1


async def test_a_later_attempt_finds_the_task_of_a_call_that_may_happen_once(
    tmp_path: Path,
) -> None:
    async with begun(tmp_path) as (servers, digest, asked):
        state(tmp_path, "completed")
        at, given = environment(attempt=2), GivenInput(asked=asked)
        assert await call_tool(servers, "ci/build", digest, given=given, at=at) == "built"
    assert ledger(tmp_path) == ["call", "get t-1"]


async def test_a_task_that_goes_on_is_handed_back_in_time(tmp_path: Path) -> None:
    async with begun(tmp_path) as (servers, digest, asked):
        second = environment(timeout=1)
        given = GivenInput(asked=asked)
        error = await failure_of(servers, "ci/build", digest, given=given, at=second)
    again = asked_by(error)
    assert (again.continues, again.task and again.task.poll_seconds) == (True, 0.1)


async def test_a_question_of_a_task_is_answered_in_the_task(tmp_path: Path) -> None:
    async with begun(tmp_path) as (servers, digest, asked):
        state(tmp_path, "input_required")
        error = await failure_of(servers, "ci/build", digest, given=GivenInput(asked=asked))
        asks = asked_by(error)
        assert (asks.continues, [one.message for one in asks.questions.values()]) == (
            False,
            ["Which one?"],
        )
        given = GivenInput(asked=asks, answers={"which": {"name": "x"}})
        assert await call_tool(servers, "ci/build", digest, given=given) == "built"
    assert "update t-1 which x" in ledger(tmp_path)
    assert ledger(tmp_path).count("call") == 1


async def test_cancelling_the_call_cancels_the_task(tmp_path: Path) -> None:
    async with begun(tmp_path) as (servers, digest, asked):
        at, given = environment(), GivenInput(asked=asked)
        following = asyncio.create_task(call_tool(servers, "ci/build", digest, given=given, at=at))
        await until_asked(tmp_path)
        at.cancel()
        with pytest.raises(asyncio.CancelledError):
            await following
    assert ledger(tmp_path)[-1] == "cancel t-1"


@pytest.mark.parametrize("effect", ["once", "idempotent"])
async def test_a_forgotten_task_is_begun_again_only_if_that_does_no_harm(
    tmp_path: Path, effect: str
) -> None:
    async with begun(tmp_path, effect) as (servers, digest, asked):
        (tmp_path / "forgotten").touch()
        error = await failure_of(servers, "ci/build", digest, given=GivenInput(asked=asked))
        if effect == "once":
            assert (error.type, error.non_retryable) == ("OutcomeUnknown", True)
        else:
            again = asked_by(error).task
            assert again is not None
            assert again.id == "t-2"
    assert ledger(tmp_path).count("call") == (1 if effect == "once" else 2)


def _children() -> list[int]:
    """The processes of the server: this one's children."""
    return [one for one in children() if "mcp_tasks" in Path(f"/proc/{one}/cmdline").read_text()]
