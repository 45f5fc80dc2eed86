"""Typed Python functions with `@tool` are tool functions, and run in processes of their own."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Coroutine
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio
from temporalio.exceptions import ApplicationError

from coterie import ToolContext, tool
from coterie.activities.tool_functions.functions.python_functions import (
    PythonFunction,
    ToolsUnusable,
    find_tools,
)
from coterie.activities.user_code.child_pool import UserCode
from coterie.activities.user_code.python_tools import ToolMisused
from coterie.activities.workspace.function_base import Workspace
from coterie.dsl.values import JsonValue
from tests.support.tool_functions import call, environment, said

TOOLS = '''
import asyncio, os, time
from datetime import date
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from coterie.activities.user_code.python_tools import ToolMisused
from coterie import ToolContext, ToolError, tool


class Weather(BaseModel):
    city: str
    degrees: float


@tool(effect="read", timeout=5, retries=1, labels=["untrusted"])
def weather(city: Annotated[str, Field(min_length=2)], unit: Literal["c", "f"] = "c") -> Weather:
    """Tell the weather
    in a city.

    A second paragraph.
    """
    return Weather(city=city, degrees=21 if unit == "c" else 70)


@tool
async def days(since: date, until: date) -> int:
    await asyncio.sleep(0)
    return (until - since).days


@tool(secrets=["KEY"], effect="idempotent")
def call_id(context: ToolContext) -> list[str]:
    return [context.run, context.call, context.secret("KEY"), str("KEY" in os.environ)]


@tool(effect="read")
def refuses(retry: bool) -> None:
    raise ToolError("the archive is closed", retry=retry)


@tool(effect="read")
def breaks() -> int:
    raise RuntimeError("cannot\\nsay")


class Place(BaseModel):
    latitude: float = Field(alias="lat")


@tool(effect="read")
def place(at: Place) -> Place:
    return at


@tool(effect="read")
def lies() -> int:
    return "many"


@tool(effect="read")
def measures(where: str) -> object:
    if where == "field":
        return Weather(city="Rome", degrees=float("nan"))
    return {"a": [1.5, float("-inf")]}


@tool(effect="read")
def dies() -> int:
    os._exit(3)


@tool(effect="read", timeout=3)
def sleeps(fifo: str) -> None:
    with open(fifo, "w") as held:  # open until the process ends
        print("began", file=held, flush=True)
        time.sleep(600)


@tool(timeout=3)
def sleeps_once(fifo: str) -> None:
    with open(fifo, "w") as held:
        print("began", file=held, flush=True)
        time.sleep(600)


@tool(effect="read")
def tells(fifo: str, context: ToolContext) -> None:
    with open(fifo, "w") as pipe:
        print("began", file=pipe, flush=True)
        while not context.cancelled:
            time.sleep(0.01)
        print("cancelled", file=pipe, flush=True)


@tool(effect="read")
async def cleans_up(fifo: str, context: ToolContext) -> None:
    with open(fifo, "w") as pipe:
        print("began", file=pipe, flush=True)
        try:
            await asyncio.sleep(600)
        finally:
            print("cancelled", file=pipe, flush=True)


@tool(effect="idempotent")
def counts(context: ToolContext) -> list[object]:
    context.heartbeat({"files": 42})
    return [context.progress]


def plain(a: int) -> int:
    return a
'''

Found = Callable[[str], Coroutine[None, None, dict[str, PythonFunction]]]


@pytest_asyncio.fixture
async def found(tmp_path: Path) -> AsyncGenerator[Found]:
    user_code = UserCode(tmp_path, {}, (str(tmp_path),))

    async def find(source: str) -> dict[str, PythonFunction]:
        (tmp_path / "demo_tools.py").write_text(source)
        tools = await find_tools(user_code, ["demo_tools"])
        return {one.name: PythonFunction(one, user_code, {"KEY": "s3cret"}) for one in tools}

    yield find
    await user_code.close()


async def test_types_and_docstring_are_the_contract(found: Found) -> None:
    functions = await found(TOOLS)
    assert "demo_tools:plain" not in functions
    contract = functions["demo_tools:weather"].contract()
    assert contract.description == "Tell the weather in a city."
    assert (contract.effect, contract.timeout, contract.retries) == ("read", 5.0, 1)
    assert contract.labels == ("untrusted",)
    assert contract.input_schema == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "city": {"type": "string", "minLength": 2},
            "unit": {"type": "string", "enum": ["c", "f"], "default": "c"},
        },
        "required": ["city"],
    }
    assert contract.output_schema["required"] == ["city", "degrees"]
    assert functions["demo_tools:days"].contract().effect == "once"
    assert functions["demo_tools:call_id"].contract().input_schema["properties"] == {}


@pytest.mark.parametrize(
    ("name", "given", "result"),
    [
        ("weather", {"city": "Rome", "unit": "f"}, {"city": "Rome", "degrees": 70.0}),
        ("days", {"since": "2026-01-01", "until": "2026-01-31"}, 30),
        ("place", {"at": {"lat": 1.5}}, {"lat": 1.5}),
        ("call_id", {}, ["test", "run-1/coder#1/apply", "s3cret", "False"]),
    ],
)
async def test_a_call_converts_arguments_and_result(
    found: Found, tmp_path: Path, name: str, given: JsonValue, result: JsonValue
) -> None:
    functions = await found(TOOLS)
    assert (
        await call(Workspace(tmp_path), f"demo_tools:{name}", given, functions=functions) == result
    )


@pytest.mark.parametrize(
    ("name", "given", "type", "message", "final"),
    [
        ("weather", {"city": "R"}, "FunctionRefused", "city: String should have at least", True),
        ("weather", {"town": "Rome"}, "FunctionRefused", "town: Extra inputs are not", True),
        ("refuses", {"retry": False}, "FunctionFailed", "the archive is closed", True),
        ("refuses", {"retry": True}, "FunctionFailed", "the archive is closed", False),
        (
            "breaks",
            {},
            "FunctionFailed",
            "RuntimeError: cannot say (demo_tools.py:",
            False,
        ),
        ("lies", {}, "FunctionFailed", "violates its contract: Input should be a valid int", True),
        ("measures", {"where": "field"}, "FunctionFailed", "the result.degrees is nan", True),
        ("measures", {"where": "item"}, "FunctionFailed", "the result.a[1] is -inf", True),
        ("dies", {}, "FunctionFailed", "its process ended with exit code 3", False),
    ],
)
async def test_a_failed_call_says_why_and_whether_it_may_pass(
    found: Found,
    tmp_path: Path,
    name: str,
    given: JsonValue,
    type: str,
    message: str,
    final: bool,
) -> None:
    functions = await found(TOOLS)
    with pytest.raises(ApplicationError) as caught:
        await call(Workspace(tmp_path), f"demo_tools:{name}", given, functions=functions)
    assert (caught.value.type, caught.value.non_retryable) == (type, final)
    assert message in str(caught.value)


async def test_a_call_is_local_only_if_its_process_is_ready(found: Found, tmp_path: Path) -> None:
    """A workflow task must not wait until a process has imported a package."""
    terms = "effect='read', timeout=2, retries=0, local_activity=True"
    head = f"import os\nfrom coterie import tool\n@tool({terms})"
    functions = await found(f"{head}\ndef pid() -> int: return os.getpid()")
    assert functions["demo_tools:pid"].contract().local_activity
    local = environment()
    local.info = replace(local.info, is_local=True)
    with pytest.raises(ApplicationError) as caught:
        await call(Workspace(tmp_path), "demo_tools:pid", {}, functions=functions, at=local)
    assert caught.value.type == "NotLocal"
    first = await call(Workspace(tmp_path), "demo_tools:pid", {}, functions=functions)
    again = await call(Workspace(tmp_path), "demo_tools:pid", {}, functions=functions, at=local)
    assert first == again


async def test_looking_for_tools_does_not_run_a_package_as_a_program(
    found: Found, tmp_path: Path
) -> None:
    package = tmp_path / "demo_tools"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text("raise SystemExit('the program ran')")
    (package / "sums.py").write_text("from coterie import tool\n@tool\ndef one() -> int: return 1")
    assert set(await found("")) == {"demo_tools.sums:one"}


async def test_a_call_that_takes_too_long_is_killed(found: Found, tmp_path: Path) -> None:
    functions = await found(TOOLS)
    os.mkfifo(tmp_path / "fifo")
    reading = asyncio.create_task(said(tmp_path / "fifo"))
    given: JsonValue = {"fifo": str(tmp_path / "fifo")}
    at = environment(timeout=33)  # of which a process may take 30 s to start
    with pytest.raises(ApplicationError, match=r"did not end within 3 s and was stopped"):
        await call(Workspace(tmp_path), "demo_tools:sleeps", given, functions=functions, at=at)
    assert await reading == "began\n"


async def test_a_once_call_that_was_killed_has_an_unknown_outcome(
    found: Found, tmp_path: Path
) -> None:
    functions = await found(TOOLS)
    os.mkfifo(tmp_path / "fifo")
    reading = asyncio.create_task(said(tmp_path / "fifo"))
    given: JsonValue = {"fifo": str(tmp_path / "fifo")}
    at = environment(timeout=33)
    with pytest.raises(ApplicationError, match=r"is unknown: .* did not end within 3 s") as caught:
        await call(Workspace(tmp_path), "demo_tools:sleeps_once", given, functions=functions, at=at)
    assert caught.value.type == "OutcomeUnknown"
    assert await reading == "began\n"


async def test_the_start_of_a_process_does_not_count_against_the_timeout(
    found: Found, tmp_path: Path
) -> None:
    slow = "import time\nfrom coterie import tool\ntime.sleep(3)\n"
    functions = await found(f"{slow}@tool(effect='read', timeout=2)\ndef quick() -> int: return 1")
    function = functions["demo_tools:quick"]
    await function.user_code.close()  # the next call needs a new process
    assert await call(Workspace(tmp_path), function.name, {}, functions=functions) == 1
    assert function.contract().startup > 3


async def test_the_wait_for_a_free_process_does_not_count_against_the_timeout(
    found: Found, tmp_path: Path
) -> None:
    quick = "\n@tool(effect='read', timeout=3)\ndef quick() -> int: return 1\n"
    few = UserCode(tmp_path, {}, (str(tmp_path),), max_children=1)
    functions = {
        name: replace(one, user_code=few) for name, one in (await found(TOOLS + quick)).items()
    }
    os.mkfifo(tmp_path / "fifo")
    given: JsonValue = {"fifo": str(tmp_path / "fifo")}
    holding = asyncio.create_task(
        call(Workspace(tmp_path), "demo_tools:cleans_up", given, functions=functions)
    )
    lines = await asyncio.to_thread(open, tmp_path / "fifo")
    with lines:
        assert await asyncio.to_thread(lines.readline) == "began\n"
        calling = asyncio.create_task(
            call(Workspace(tmp_path), "demo_tools:quick", {}, functions=functions)
        )
        waited, _ = await asyncio.wait({calling}, timeout=4)  # longer than its own time
        assert not waited
        holding.cancel()
        assert await calling == 1
    with pytest.raises(asyncio.CancelledError):
        await holding
    await few.close()


@pytest.mark.parametrize("name", ["tells", "cleans_up"])
async def test_a_function_with_a_context_learns_that_its_call_is_cancelled(
    found: Found, tmp_path: Path, name: str
) -> None:
    functions = await found(TOOLS)
    os.mkfifo(tmp_path / "fifo")
    given: JsonValue = {"fifo": str(tmp_path / "fifo")}
    calling = asyncio.create_task(
        call(Workspace(tmp_path), f"demo_tools:{name}", given, functions=functions)
    )
    lines = await asyncio.to_thread(open, tmp_path / "fifo")
    with lines:
        assert await asyncio.to_thread(lines.readline) == "began\n"
        calling.cancel()
        assert await asyncio.to_thread(lines.read) == "cancelled\n"
    with pytest.raises(asyncio.CancelledError):
        await calling


async def test_reported_progress_reaches_the_server_and_the_next_attempt(
    found: Found, tmp_path: Path
) -> None:
    functions = await found(TOOLS)
    at, beats = environment(), list[object]()
    at.on_heartbeat = lambda *details: beats.extend(details[1:])
    name = "demo_tools:counts"
    assert await call(Workspace(tmp_path), name, {}, functions=functions, at=at) == [None]
    assert {"progress": {"files": 42}} in beats
    again = environment(attempt=2)
    again.info = replace(again.info, heartbeat_details=({}, {"progress": {"files": 42}}))
    assert await call(Workspace(tmp_path), name, {}, functions=functions, at=again) == [
        {"files": 42}
    ]


async def test_a_package_never_shares_a_process_with_another_one_and_its_secrets(
    tmp_path: Path,
) -> None:
    head = "import os\nfrom coterie import ToolContext, tool\n@tool"
    source = f"{head}(effect='read', secrets=['KEY'])\ndef pid(c: ToolContext) -> int:"
    (tmp_path / "keeper.py").write_text(f"{source} return os.getpid()")
    (tmp_path / "stranger.py").write_text(f"{head}\ndef pid() -> int: return os.getpid()")
    user_code = UserCode(tmp_path, {}, (str(tmp_path),))
    try:
        tools = await find_tools(user_code, ["keeper", "stranger"])
        functions = {one.name: PythonFunction(one, user_code, {"KEY": "s3cret"}) for one in tools}
        keeper, stranger, again = [
            await call(Workspace(tmp_path), f"{name}:pid", {}, functions=functions)
            for name in ("keeper", "stranger", "keeper")
        ]
    finally:
        await user_code.close()
    assert keeper == again
    assert keeper != stranger


async def test_a_secret_that_the_worker_does_not_grant_is_named(
    found: Found, tmp_path: Path
) -> None:
    [one] = [one for one in (await found(TOOLS)).values() if one.found.secrets]
    functions = {one.name: PythonFunction(one.found, one.user_code)}
    with pytest.raises(ApplicationError, match=r"needs the secrets KEY; name them in `worker"):
        await call(Workspace(tmp_path), one.name, {}, functions=functions)


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("import nowhere", "the module 'demo_tools' cannot be imported: ModuleNotFoundError"),
        (
            "from coterie import tool\n@tool\ndef f(a): ...",
            "'demo_tools:f' cannot be a tool: it has the parameter 'a' without a type; add one",
        ),
        (
            "from coterie import tool\n@tool\ndef f(*a: int): ...",
            "it has the parameter 'a', which a call cannot give by its name",
        ),
        (
            "from coterie import tool\nclass A: ...\n@tool\ndef f(a: A): ...",
            "it has a type that cannot be JSON",
        ),
        (
            "from coterie import tool\n@tool\ndef f(a: 'Later'): ...",
            "it names a type that its module does not have: name 'Later' is not defined",
        ),
        (
            "from coterie import tool\n@tool\ndef f(a: 'int +'): ...",
            "it has annotations that cannot be read: SyntaxError",
        ),
        (
            "from coterie import tool\n@tool(local_activity=True)\ndef f(): ...",
            "'demo_tools:f' cannot be a tool: it cannot be a local activity: its effect is 'once', "
            "its timeout is 60 s, it has `retries: 2`; write `effect='read', timeout=2, retries=0`",
        ),
        ("import os; os._exit(4)", "its process ended with exit code 4"),
    ],
)
async def test_a_function_that_cannot_be_a_tool_is_named_with_its_fix(
    found: Found, source: str, fault: str
) -> None:
    with pytest.raises(ToolsUnusable) as caught:
        await found(source)
    assert fault in str(caught.value)


def test_a_marked_function_is_still_the_function() -> None:
    @tool
    def double(a: int) -> int:
        return 2 * a

    @tool(effect="read")
    def secret(context: ToolContext) -> str:
        return context.secret("KEY")

    assert double(2) == 4
    assert secret(ToolContext(secrets={"KEY": "x"})) == "x"
    with pytest.raises(ToolMisused, match="without naming it in `secrets`"):
        secret(ToolContext())


async def test_the_wrong_name_of_a_function_gets_the_nearest(found: Found, tmp_path: Path) -> None:
    await found(TOOLS)
    with pytest.raises(ApplicationError, match="unknown tool function 'demo_tools:wether'"):
        await call(Workspace(tmp_path), "demo_tools:wether")
