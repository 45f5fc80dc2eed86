"""Whatever shape a message has, it is taken or refused with a sentence; a run goes on after it."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowQueryFailedError, WorkflowUpdateFailedError
from temporalio.common import RawValue
from temporalio.testing import WorkflowEnvironment

from tests.support.engine import Engine, engine, trail
from tests.support.runs import Handle, asked

WAITING = """
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - {name: sign, type: approval, prompt: "Sure?", show: {a: b}, editable: true}
        - {name: word, type: wait, signal: word}
"""
SIGNALS = ("approve", "reject", "pause", "resume", "retry", "skip", "word")
UPDATES = ("decide", "amend", "redirect", "retry", "skip")


def _raw(data: bytes, encoding: str = "json/plain") -> RawValue:
    return RawValue(Payload(metadata={"encoding": encoding.encode()}, data=data))


ODD: dict[str, tuple[list[Any], str]] = {
    "two": ([{}, {}], "a message has one argument, and this one has 2"),
    "bytes": ([_raw(b"abc", "binary/plain")], "its encoding is 'binary/plain'; a message is JSON"),
    "unknown": ([_raw(b"{}", "what/ever")], "its encoding is 'what/ever'"),
    "broken": ([_raw(b"{no")], "it is no JSON"),
    "no number": ([_raw(b'{"payload": NaN}')], "it is no JSON"),
    "deep": ([_raw(b"[" * 150 + b"]" * 150)], "it is nested deeper than the 100 levels"),
}
"""What is sent, and what is said of it."""


@pytest.fixture
async def here(env: WorkflowEnvironment, tmp_path: Path) -> AsyncGenerator[Engine]:
    async with engine(env, tmp_path, [], cached_runs=0) as made:
        yield made  # every message finds a run that is replayed


async def _approved(handle: Handle) -> None:
    """The run still does what it is there for, and never stood still."""
    request = await asked(handle)
    await handle.execute_update("decide", {"id": request["id"], "decision": "approve"})
    await handle.signal("word", "fine")
    assert (await asyncio.wait_for(handle.result(), 30))["output"]["word"] == "fine"
    kinds = [event.event_type for event in (await handle.fetch_history()).events]
    assert EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED not in kinds


async def _refusal(handle: Handle, update: str, given: list[Any]) -> Any:
    with pytest.raises(WorkflowUpdateFailedError) as error:
        await handle.execute_update(update, args=given)
    return error.value.cause


@pytest.mark.parametrize("case", ODD)
async def test_what_is_no_message_is_refused_as_malformed_and_the_run_goes_on(
    here: Engine, case: str
) -> None:
    given, said = ODD[case]
    handle: Any = await here.start(WAITING)
    await asked(handle)
    for name in SIGNALS:
        await handle.signal(name, args=given)
    for name in UPDATES:
        refusal = await _refusal(handle, name, given)
        assert refusal.type == "Malformed"
        assert said in refusal.message
    for name in ("request", "events", "state"):
        with pytest.raises(WorkflowQueryFailedError, match="this is no question; ask with"):
            await handle.query(name, args=given)
    refusals = [entry for entry in await trail(handle) if entry.kind == "refused"]
    assert [entry.status for entry in refusals] == ["Malformed"] * len(SIGNALS)
    assert all(said in entry.because for entry in refusals)
    await _approved(handle)


async def test_a_message_without_an_argument_says_nothing_of_what_may_be_left_out(
    here: Engine,
) -> None:
    handle: Any = await here.start(WAITING)
    await asked(handle)
    await handle.signal("pause")
    status = await handle.query("status")
    assert status["paused"]["by"] == "unknown"
    await handle.signal("resume")
    assert "paused" not in await handle.query("status")
    for name in ("approve", "reject", "skip"):
        await handle.signal(name)
    refusals = [entry for entry in await trail(handle) if entry.kind == "refused"]
    assert [(entry.status, entry.because) for entry in refusals] == [
        ("Malformed", "not a Answer: id: Field required"),
        ("Malformed", "not a Answer: id: Field required"),
        ("Malformed", "not a SkipInput: task: Field required"),
    ]
    assert (await _refusal(handle, "decide", [])).type == "Malformed"
    assert (await _refusal(handle, "amend", [])).message == (
        "not a AmendInput: updates: Field required"
    )
    nothing_failed = "no failed task waits for a word; only tasks with `on_failure: ask` do"
    assert (await _refusal(handle, "retry", [])).message == nothing_failed
    assert (await handle.query("events"))["entries"]
    with pytest.raises(WorkflowQueryFailedError, match="this is no question; ask with"):
        await handle.query("request")
    await _approved(handle)


async def test_a_named_signal_without_an_argument_brings_null(here: Engine) -> None:
    handle: Any = await here.start(WAITING)
    request = await asked(handle)
    await handle.signal("word")
    await handle.execute_update("decide", {"id": request["id"], "decision": "approve"})
    assert (await asyncio.wait_for(handle.result(), 30))["output"]["word"] is None
