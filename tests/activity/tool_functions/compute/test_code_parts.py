"""Programs that call tools: each part is an activity, and its state a value."""

import base64
import json
import zlib
from pathlib import Path

import pytest
from pydantic import JsonValue
from temporalio.exceptions import ApplicationError

from coterie.activities.contracts import (
    CodeAnswer,
    CodeState,
    CodeTurn,
    FunctionRequest,
    FunctionResult,
    SuspendedCode,
)
from coterie.activities.storage.blobs import MemoryBlobs
from coterie.activities.tool_functions.compute import code_state
from coterie.activities.tool_functions.compute.python_code import MODULES
from coterie.activities.tool_functions.function_activity import FunctionActivities
from coterie.activities.workspace.function_base import Workspace
from coterie.dsl.model.traversal.code_mode import MODULES_OF_CODE
from tests.support.tool_functions import environment

NOON = 1_800_000_000.0


class Program:
    """One program on a worker."""

    def __init__(self, folder: Path, blobs: MemoryBlobs | None = None) -> None:
        self.activities = FunctionActivities(Workspace(folder), blobs=blobs)

    async def part(self, turn: CodeTurn, given: JsonValue = None) -> FunctionResult:
        """One activity of it."""
        request = FunctionRequest(skill="Python.run", input=given, key="r/e/t/s#1", code=turn)
        return await environment().run(self.activities.call_function, request)

    async def begin(self, code: str, **given: JsonValue) -> FunctionResult:
        functions = {"look": ("path", "deep"), "pay": ("order",)}
        return await self.part(CodeTurn(functions=functions, now=NOON), {"code": code, **given})

    async def on(self, waiting: SuspendedCode, *values: JsonValue) -> FunctionResult:
        answers = tuple(
            CodeAnswer(id=call.id, value=value)
            for call, value in zip(waiting.calls, values, strict=True)
        )
        return await self.part(CodeTurn(state=waiting.state, answers=answers))


def waits(result: FunctionResult) -> SuspendedCode:
    assert result.suspended is not None
    return result.suspended


def value(result: FunctionResult) -> JsonValue:
    assert isinstance(result.data, dict)
    return result.data["value"]


async def failure_of(part: object) -> str:
    with pytest.raises(ApplicationError) as caught:
        await part  # type: ignore[misc]
    return caught.value.message


async def test_a_part_ends_at_the_calls_that_the_code_awaits(tmp_path: Path) -> None:
    program = Program(tmp_path)
    first = waits(await program.begin("[await look('a', deep=True), await pay(order=2)]"))
    assert [(call.function, call.arguments) for call in first.calls] == [
        ("look", {"path": "a", "deep": True})
    ]
    second = waits(await program.on(first, {"x": 1}))
    assert [(call.function, call.arguments) for call in second.calls] == [("pay", {"order": 2})]
    assert value(await program.on(second, None)) == [{"x": 1}, None]


async def test_a_part_that_is_tried_again_ends_in_the_same_way(tmp_path: Path) -> None:
    program, code = (
        Program(tmp_path),
        (
            "a = random.random()\nawait look('x')\nb = random.random()\n"
            "[a, b, str(datetime.datetime.now(datetime.timezone.utc))]"
        ),
    )
    first, again = waits(await program.begin(code)), waits(await program.begin(code))
    ends = [value(await program.on(one, 0)) for one in (first, first, again)]
    assert ends[0] == ends[1] == ends[2]
    assert isinstance(ends[0], list)
    assert ends[0][0] != ends[0][1]
    assert str(ends[0][2]).startswith("2027-01-15 08:00:00")


async def test_what_the_parts_print_is_one_output(tmp_path: Path) -> None:
    program = Program(tmp_path)
    at = waits(await program.begin("print('a')\nawait look('x')\nprint('b')"))
    ended = await program.on(at, None)
    assert isinstance(ended.data, dict)
    assert ended.data["printed"] == "a\nb\n"


async def test_the_time_limit_counts_all_parts(tmp_path: Path) -> None:
    code = (
        "def burn():\n    n = 0\n    for i in range(150_000):\n        n += i\n"
        "for i in range(1000):\n    burn()\n    await look('x')"
    )
    program = Program(tmp_path)
    result: FunctionResult | str = await program.begin(code, max_seconds=0.4)
    parts = 0
    while isinstance(result, FunctionResult):
        at, parts = waits(result), parts + 1
        try:
            result = await program.on(at, None)
        except ApplicationError as error:
            result = error.message
    assert "time limit exceeded" in result
    assert parts > 1


async def test_a_large_state_is_stored_and_a_small_one_stands_in_the_history(
    tmp_path: Path,
) -> None:
    blobs = MemoryBlobs()
    stored = Program(tmp_path, blobs)
    at = waits(
        await stored.begin("x = [random.random() for i in range(500)]\nawait look('a')\nlen(x)")
    )
    assert len(at.state.kept) == 64
    assert at.state.inline == ""
    assert value(await Program(tmp_path, blobs).on(at, None)) == 500
    missing = Program(tmp_path, MemoryBlobs()).on(at, None)
    assert "is not stored" in await failure_of(missing)
    alone = Program(tmp_path)
    at = waits(await alone.begin("x = 1\nawait look('a')\nx"))
    assert at.state.inline != ""
    assert value(await alone.on(at, None)) == 1


async def test_a_state_that_would_be_too_large_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code_state, "MAX_STATE_BYTES", 10_000)
    code = "x = [random.random() for i in range(5000)]\nawait look('a')"
    assert "keep less in variables" in await failure_of(Program(tmp_path).begin(code))


async def test_results_that_are_stored_reach_the_code(tmp_path: Path) -> None:
    blobs = MemoryBlobs()
    program = Program(tmp_path, blobs)
    at = waits(await program.begin("len((await look('a'))['text'])"))
    name = await blobs.put(json.dumps({"text": "x" * 9000}).encode(), "r")
    answer = CodeAnswer(id=at.calls[0].id, kept=name)
    assert value(await program.part(CodeTurn(state=at.state, answers=(answer,)))) == 9000


def with_header(state: CodeState, **changes: JsonValue) -> CodeState:
    """The state as another version of the sandbox has written it."""
    mark, _, packed = base64.b64decode(state.inline).partition(b"\n")
    header, _, snapshot = zlib.decompress(packed).partition(b"\n")
    changed = json.dumps({**json.loads(header), **changes}).encode() + b"\n" + snapshot
    data = mark + b"\n" + zlib.compress(changed)
    return CodeState(inline=base64.b64encode(data).decode())


async def test_a_state_of_another_sandbox_is_refused_by_name(tmp_path: Path) -> None:
    program = Program(tmp_path)
    at = waits(await program.begin("await look('a')"))
    other = at.model_copy(update={"state": with_header(at.state, sandbox="1.3.9")})
    message = await failure_of(program.on(other, None))
    assert "pydantic-monty 1.3.9, and this worker has 1.4.0" in message
    assert "at its call 1 " in message


@pytest.mark.parametrize("bytes_", [b"", b"nonsense", b"coterie-program-1\nnonsense"])
async def test_bytes_that_are_not_a_state_are_a_failure(tmp_path: Path, bytes_: bytes) -> None:
    program = Program(tmp_path)
    at = waits(await program.begin("await look('a')"))
    state = CodeState(inline=base64.b64encode(bytes_).decode() or "IA==")
    message = await failure_of(program.on(at.model_copy(update={"state": state}), None))
    assert "the state of the code" in message


@pytest.mark.parametrize(
    ("code", "end"),
    [
        ("try:\n    await pay(1)\nexcept PermissionError as e:\n    x = str(e)\nx", "Rejected: no"),
        ("try:\n    await pay(1)\nexcept RuntimeError as e:\n    x = 1\nx", None),
    ],
)
async def test_a_failure_is_an_exception_of_its_kind(
    tmp_path: Path, code: str, end: JsonValue
) -> None:
    program = Program(tmp_path)
    at = waits(await program.begin(code))
    answer = CodeAnswer(id=at.calls[0].id, error="Rejected", message="no")
    part = program.part(CodeTurn(state=at.state, answers=(answer,)))
    if end is None:
        assert "PermissionError: Rejected: no" in await failure_of(part)
    else:
        assert value(await part) == end


async def test_more_calls_than_may_begin_at_once_fail_in_the_code(tmp_path: Path) -> None:
    code = (
        "calls = []\ntry:\n    while True:\n        calls.append(look('a'))\n"
        "except RuntimeError as e:\n    why = str(e)\n"
        "r = await asyncio.gather(*calls)\n[len(r), why]"
    )
    program = Program(tmp_path)
    at = waits(await program.begin(code))
    assert len(at.calls) == 100
    ended = value(await program.on(at, *[None] * 100))
    assert isinstance(ended, list)
    assert ended[0] == 100
    assert "may begin 100 calls" in str(ended[1])


def test_the_names_that_are_taken_have_all_modules_of_the_code() -> None:
    assert set(MODULES_OF_CODE) == {"asyncio", *MODULES}
