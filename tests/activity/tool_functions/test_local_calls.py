"""How a function is called: as an activity, a local one, by an agent; what a result may weigh."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pydantic import JsonValue, TypeAdapter
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory
from temporalio.testing import ActivityEnvironment

from coterie.activities.contracts import FailureType, FunctionRequest, FunctionResult
from coterie.activities.storage.blobs import Blobs, DirectoryBlobs, MemoryBlobs, name_of
from coterie.activities.tool_functions.function_activity import (
    MAX_INLINE,
    FunctionActivities,
    shortened,
)
from coterie.activities.tool_functions.local_calls import MAX_LOCAL_RESULT
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction, Workspace
from coterie.activities.workspace.function_failures import FunctionFailure
from coterie.dsl.model.capabilities import Effect, FunctionContract
from tests.support.tool_functions import environment

STARTUP = 3.0


async def repeat(count: int, context: FunctionContext) -> str:
    if count < 0:
        raise FunctionFailure("x" * -count)
    if count == 0:
        raise OSError(110, "Connection timed out")
    return "x" * count


@dataclass(frozen=True)
class Slow(ToolFunction[int, str]):
    """A tool function whose process takes a while to start."""

    def contract(self) -> FunctionContract:
        return super().contract().model_copy(update={"startup": STARTUP})


def activities(
    root: Path, effect: Effect = "read", blobs: Blobs | None = None
) -> FunctionActivities:
    made = Slow("It.is", "Repeat.", effect, TypeAdapter(int), TypeAdapter(str), repeat)
    return FunctionActivities(Workspace(root), {"It.is": made}, blobs)


def asked(count: JsonValue, *, keep: bool = False) -> FunctionRequest:
    return FunctionRequest(skill="It.is", input=count, key="run/it", keep=keep)


def at(*, local: bool) -> ActivityEnvironment:
    made = environment()
    made.info = replace(made.info, is_local=local)
    return made


async def failure(worker: FunctionActivities, count: int, *, local: bool) -> ApplicationError:
    with pytest.raises(ApplicationError) as raised:
        await at(local=local).run(worker.call_function, asked(count))
    return raised.value


@pytest.mark.parametrize("local", [True, False])
async def test_a_local_result_names_its_request_and_is_small(local: bool, tmp_path: Path) -> None:
    worker = activities(tmp_path)
    result = await at(local=local).run(worker.call_function, asked(MAX_LOCAL_RESULT - 2))
    assert result.request == (asked(MAX_LOCAL_RESULT - 2) if local else None)
    if local:
        error = await failure(worker, MAX_LOCAL_RESULT - 1, local=True)
        assert (error.type, error.non_retryable) == (FailureType.FUNCTION_FAILED, True)
    else:
        result = await at(local=False).run(worker.call_function, asked(MAX_LOCAL_RESULT - 1))
        assert result.data == "x" * (MAX_LOCAL_RESULT - 1)


@pytest.mark.parametrize(
    ("local", "length", "shown"),
    [(True, 4_000, 4_000), (True, 4_001, 4_029), (True, 9_000, 4_033), (False, 9_000, 9_000)],
)
async def test_a_local_failure_is_short(
    local: bool, length: int, shown: int, tmp_path: Path
) -> None:
    error = await failure(activities(tmp_path), -length, local=local)
    assert (len(error.message), error.type) == (shown, FailureType.FUNCTION_FAILED)


def test_a_shortened_failure_keeps_all_but_its_length() -> None:
    long = ApplicationError(
        "x" * 4_001, {"a": 1}, 2, type="T", non_retryable=True,
        category=ApplicationErrorCategory.BENIGN,
    )  # fmt: skip
    short = shortened(long)
    assert short.message == "x" * 4_000 + " [cut off: 1 more characters]"
    assert (short.details, short.type, short.non_retryable, short.category) == (
        ({"a": 1}, 2),
        "T",
        True,
        ApplicationErrorCategory.BENIGN,
    )


@pytest.mark.parametrize("effect", ["idempotent", "once"])
async def test_only_reads_run_locally(effect: Effect, tmp_path: Path) -> None:
    worker = activities(tmp_path, effect)
    error = await failure(worker, 1, local=True)
    assert (error.type, error.category) == (
        FailureType.NOT_LOCAL,
        ApplicationErrorCategory.BENIGN,
    )
    assert (await at(local=False).run(worker.call_function, asked(1))).data == "x"


@pytest.mark.parametrize("blobs", [None, MemoryBlobs()])
@pytest.mark.parametrize("keep", [True, False])
async def test_only_a_wanted_and_large_result_is_stored(
    blobs: MemoryBlobs | None, keep: bool, tmp_path: Path
) -> None:
    worker = activities(tmp_path, blobs=blobs)
    for size in (MAX_INLINE, MAX_INLINE + 1):
        request = asked(size - 2, keep=keep)
        result: FunctionResult = await environment().run(worker.call_function, request)
        is_kept = keep and blobs is not None and size > MAX_INLINE
        assert (result.kept is not None) is is_kept
        if result.kept is not None and blobs is not None:
            assert (result.kept.size, result.kept.preview) == (size, '"' + "x" * 99)
            assert await blobs.get(result.kept.name, "") == b'"' + b"x" * (size - 2) + b'"'
        else:
            assert result.data == "x" * (size - 2)


@pytest.mark.parametrize(
    ("effect", "type"),
    [("once", FailureType.OUTCOME_UNKNOWN), ("idempotent", FailureType.STORAGE_UNUSABLE)],
)
async def test_a_result_that_cannot_be_stored_is_lost_and_its_effect_is_not(
    effect: Effect, type: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    worker = activities(tmp_path, effect, DirectoryBlobs(tmp_path / "file"))
    with pytest.raises(ApplicationError) as raised:
        await environment().run(worker.call_function, asked(MAX_INLINE, keep=True))
    assert (raised.value.type, raised.value.non_retryable) == (type, effect == "once")


async def test_a_system_error_without_a_file_has_its_reason(tmp_path: Path) -> None:
    error = await failure(activities(tmp_path), 0, local=False)
    assert error.message == "It.is hit a system error: Connection timed out"


@pytest.mark.parametrize(("whole", "own"), [(5.0, 5.0), (500.0, 60.0 + STARTUP), (None, 63.0)])
async def test_a_function_in_a_turn_knows_the_shorter_of_both_time_limits(
    whole: float | None, own: float, tmp_path: Path
) -> None:
    limits: list[float | None] = []

    async def note(count: int, context: FunctionContext) -> str:
        limits.append(context.timeout)
        return "x"

    made = Slow("It.is", "Note.", "read", TypeAdapter(int), TypeAdapter(str), note)
    call = FunctionActivities(Workspace(tmp_path), {"It.is": made}).call_for_agent
    if whole is None:
        await call(asked(1))
    else:
        await environment(timeout=whole).run(call, asked(1))
    assert limits == [own]


async def test_an_agent_that_calls_an_unknown_function_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ApplicationError) as raised:
        await activities(tmp_path).call_for_agent(FunctionRequest(skill="It.was", key="run/it"))
    assert raised.value.type == FailureType.FUNCTION_REFUSED


class NotedBlobs(MemoryBlobs):
    """Notes for which run each value is stored."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[str] = []

    async def put(self, data: bytes, within: str) -> str:
        self.runs.append(within)
        return await super().put(data, within)


@pytest.mark.parametrize(("workflow", "run"), [("plan-7", "plan-7"), ("", ""), (None, "run")])
async def test_a_function_knows_and_stores_for_the_run_that_calls_it(
    workflow: str | None, run: str, tmp_path: Path
) -> None:
    seen: list[str] = []

    async def store(count: int, context: FunctionContext) -> str:
        seen.append(context.run)
        return "none" if context.store is None else await context.store(b"x" * count)

    made = Slow("It.is", "Store.", "read", TypeAdapter(int), TypeAdapter(str), store)
    blobs = NotedBlobs()
    for within in (blobs, None):
        worker = FunctionActivities(Workspace(tmp_path), {"It.is": made}, within)
        if workflow is None:
            result = await worker.call_function(asked(3))
        else:
            there = environment()
            there.info = replace(there.info, workflow_id=workflow)
            result = await there.run(worker.call_function, asked(3))
        assert result.data == (name_of(b"xxx") if within else "none")
    assert (seen, blobs.runs) == ([run, run], [run])
