"""A `once` call that may have happened is never repeated, whatever kind of tool it is.

The table is `kind x moment of failure`. Agents and teams as tools make such calls in runs:
`tests/unit/workflows/steps/test_repeated_effects.py`.
"""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio
from pydantic import JsonValue, TypeAdapter
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from coterie.activities.contracts import FunctionRequest
from coterie.activities.mcp_client.server_pool import McpServers
from coterie.activities.tool_functions.command_runner import RUN_ONCE
from coterie.activities.tool_functions.function_activity import FunctionActivities
from coterie.activities.tool_functions.function_registry import AnyFunction
from coterie.activities.tool_functions.functions.python_functions import PythonFunction, find_tools
from coterie.activities.user_code.child_pool import UserCode
from coterie.activities.workspace.command_lock import alone
from coterie.activities.workspace.function_base import (
    Command,
    FunctionContext,
    ToolFunction,
    Workspace,
)
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal
from coterie.dsl.model.sections.mcp_document import McpServerSection
from coterie.dsl.values import Json
from tests.support.servers.mcp_tools import HOSTILE, digests, listing_of, mcp_servers
from tests.support.tool_functions import environment

FUNCTIONS = """
import os
from coterie import ToolError, tool

@tool(timeout=60)
def pay(how: str) -> dict[str, int]:
    print("paid", file=open("paid", "w"))
    if how == "raises":
        raise RuntimeError("no answer")
    if how == "says so":
        raise ToolError("the till is closed", retry=True)
    if how == "dies":
        os._exit(3)
    if how == "hangs":
        import time; time.sleep(600)
    return {"lies": {"receipt": "R-17"}, "NaN": {"x": float("nan")}}.get(how, "R-17" * 500_000)
"""


async def _pay(how: str, context: FunctionContext) -> dict[str, JsonValue]:
    match how:
        case "says so":
            raise FunctionFailure("the till is closed", happened="no")
        case "refuses":
            raise FunctionRefusal("not this till")
        case "fails":
            raise FunctionFailure("the till broke")
        case "breaks":
            raise KeyError("till")
        case "system":
            raise OSError(28, "No space left on device")
        case "hangs":
            await asyncio.sleep(600)
        case _:
            pass
    return {"receipt": "R-17" * 500_000 if how == "floods" else how}


PAY_FUNCTION = ToolFunction(
    "Till.pay",
    "Pays.",
    "once",
    TypeAdapter(str),
    TypeAdapter(dict[str, JsonValue]),
    _pay,
)
WAITING = asyncio.Event()


async def _wait(how: str, context: FunctionContext) -> dict[str, JsonValue]:
    WAITING.set()
    await asyncio.sleep(600)
    return {}


WAITING_FUNCTION = replace(PAY_FUNCTION, name="Till.wait", run=_wait, begins_itself=True)
COMMANDS = {
    "missing": Command("missing", ("no-such-program",)),
    "slow": Command("slow", ("/bin/sleep", "600"), timeout=0.5),
    "hangs": Command("hangs", ("/bin/sleep", "600")),
}


class Calls:
    """Calls of each kind of tool, in one worker."""

    def __init__(self, folder: Path, code: UserCode, servers: McpServers) -> None:
        self.folder = folder
        self._code = code
        self._servers = servers

    async def failure(
        self, name: str, given: JsonValue, at: ActivityEnvironment | None = None
    ) -> ApplicationError:
        listing = None
        functions: dict[str, AnyFunction] = {
            TOOL_FUNCTION: PAY_FUNCTION,
            WAITS: WAITING_FUNCTION,
            COMMAND: RUN_ONCE,
        }
        if "/" in name:
            server, _, tool = name.partition("/")
            listing = digests(await listing_of(self._servers, server))[tool]
        if name == FUNCTION:
            found = await find_tools(self._code, ["till"])
            functions |= {one.name: PythonFunction(one, self._code) for one in found}
        workspace = Workspace(self.folder, COMMANDS, environment=dict(os.environ))
        activities = FunctionActivities(workspace, functions, servers=self._servers)
        request = FunctionRequest(skill=name, input=given, key="run/step#1", listing=listing)
        with pytest.raises(ApplicationError) as caught:
            await (at or environment()).run(activities.call_function, request)
        return caught.value


@pytest_asyncio.fixture
async def calls(tmp_path: Path) -> AsyncGenerator[Calls]:
    (tmp_path / "till.py").write_text(FUNCTIONS)
    code = UserCode(tmp_path, {}, (str(tmp_path),))
    command = [sys.executable, "-P", str(HOSTILE)]
    sections = {
        way: McpServerSection.model_validate({"command": [*command, way]})
        for way in ("errors", "lies", "silent", "infinite")
    }
    async with mcp_servers(tmp_path, sections) as servers:
        yield Calls(tmp_path, code, servers)
    await code.close()


FUNCTION, COMMAND, TOOL_FUNCTION, WAITS = (
    "till:pay",
    "CommandRunner.run_once",
    "Till.pay",
    "Till.wait",
)
UNKNOWN = "the outcome of {} is unknown: "
HAPPENED = "{} has happened, but its result cannot be used: "
FAILED = ("FunctionFailed", "")
REFUSED = ("FunctionRefused", "")


def _how(how: str) -> Json:
    return {"how": how}


@pytest.mark.parametrize(
    ("tool", "given", "type", "words"),
    [
        # before the start
        (TOOL_FUNCTION, 7, *REFUSED),
        (FUNCTION, {"what": 7}, *REFUSED),
        (COMMAND, {"command": "unknown"}, *REFUSED),
        (COMMAND, {"command": "missing"}, *FAILED),
        ("errors/evil", "text", *REFUSED),
        # refused by the tool, which says that nothing has happened
        (TOOL_FUNCTION, "refuses", *REFUSED),
        (TOOL_FUNCTION, "says so", *FAILED),
        (FUNCTION, _how("says so"), *FAILED),
        ("errors/evil", {"n": -32602}, *REFUSED),
        # during the effect
        (TOOL_FUNCTION, "fails", "OutcomeUnknown", UNKNOWN + "the till broke"),
        (TOOL_FUNCTION, "breaks", "OutcomeUnknown", UNKNOWN + "it failed with KeyError"),
        (
            TOOL_FUNCTION,
            "system",
            "OutcomeUnknown",
            UNKNOWN + "it hit a system error: the disk is full",
        ),
        (FUNCTION, _how("raises"), "OutcomeUnknown", UNKNOWN + "till:pay raised RuntimeError: no"),
        (FUNCTION, _how("dies"), "OutcomeUnknown", UNKNOWN + "till:pay: its process ended with"),
        (
            "errors/evil",
            {"n": -32603},
            "OutcomeUnknown",
            UNKNOWN + "the MCP server 'errors' failed",
        ),
        ("errors/evil", {"n": 0}, "OutcomeUnknown", UNKNOWN + "errors/evil asks a person in the"),
        # after a success, with an unusable result
        (
            TOOL_FUNCTION,
            "floods",
            "OutcomeUnknown",
            HAPPENED + "the result of Till.pay has 2000014 bytes",
        ),
        (FUNCTION, _how("lies"), "OutcomeUnknown", HAPPENED + "till:pay returned a result that"),
        (FUNCTION, _how("NaN"), "OutcomeUnknown", HAPPENED + "till:pay returned a result that"),
        (FUNCTION, _how("floods"), "OutcomeUnknown", HAPPENED + "till:pay returned a result that"),
        ("lies/evil", {}, "OutcomeUnknown", HAPPENED + "lies/evil returned a result that violates"),
        ("infinite/good", {}, "OutcomeUnknown", HAPPENED + "infinite/good returned a result that"),
    ],
)
async def test_a_call_that_may_have_happened_is_not_repeated(
    calls: Calls, tool: str, given: JsonValue, type: str, words: str
) -> None:
    error = await calls.failure(tool, given)
    assert error.type == type, error.message
    assert error.message.startswith(words.format(tool))
    assert error.non_retryable or (tool, given) == (FUNCTION, _how("says so"))


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        (FUNCTION, _how("lies"), "Its result: {'receipt': 'R-17'}"),
        (TOOL_FUNCTION, "floods", 'Its result: {"receipt":"R-17R-17'),
        ("lies/evil", {}, 'Its result: {"s":"aaaa'),
    ],
)
async def test_an_unusable_result_keeps_what_the_tool_said(
    calls: Calls, tool: str, given: JsonValue, said: str
) -> None:
    error = await calls.failure(tool, given)
    assert said in error.message
    assert len(error.message) < 3_000
    assert ("[cut off: " in error.message) is (given == "floods")


@pytest.mark.parametrize(
    ("tool", "given", "seconds"),
    [
        (TOOL_FUNCTION, "hangs", 1),
        (FUNCTION, _how("hangs"), 32),  # of which 30 are for the start of its process
        (COMMAND, {"command": "hangs"}, 4),
        (COMMAND, {"command": "slow"}, 60),
        ("silent/evil", {}, 3),
    ],
)
async def test_a_call_that_ends_at_its_time_limit_has_an_unknown_outcome(
    calls: Calls, tool: str, given: JsonValue, seconds: float
) -> None:
    error = await calls.failure(tool, given, environment(timeout=seconds))
    assert (error.type, error.non_retryable) == ("OutcomeUnknown", True)
    assert "did not end within" in error.message or "did not answer within" in error.message


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        (TOOL_FUNCTION, "x"),
        (FUNCTION, _how("x")),
        (COMMAND, {"command": "hangs"}),
        ("lies/good", {}),
    ],
)
async def test_a_call_whose_worker_was_killed_is_not_made_again(
    calls: Calls, tool: str, given: JsonValue
) -> None:
    error = await calls.failure(tool, given, environment(attempt=2))
    assert (error.type, error.non_retryable) == ("OutcomeUnknown", True)
    assert "its first attempt was lost" in error.message
    assert not (calls.folder / "paid").exists()


async def test_a_call_that_ends_before_its_effect_has_not_happened(calls: Calls) -> None:
    async with alone(calls.folder / ".coterie" / "calls", f"{environment().info.workflow_id}/k"):
        given: Json = {"command": "hangs", "key": "k"}
        error = await calls.failure(COMMAND, given, environment(timeout=0.5))
    assert (error.type, error.non_retryable) == ("Timeout", False)
    at = environment()
    WAITING.clear()
    calling = asyncio.ensure_future(calls.failure(WAITS, "x", at))
    await WAITING.wait()
    at.worker_shutdown()
    at.cancel()
    error = await calling
    assert error.type == "StaleAttempt"
    assert "its worker stopped" in error.message
    assert not (calls.folder / "paid").exists()
