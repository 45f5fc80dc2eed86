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

from coterie.workflows.core.messages import TeamInput
from tests.support.engine import Engine, engine, plan_of, trail
from tests.support.runs import Handle, asked, failure

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
UPDATES = ("decide", "amend", "redirect", "say", "retry", "skip")


def _raw(data: bytes, encoding: str = "json/plain") -> RawValue:
    return RawValue(Payload(metadata={"encoding": encoding.encode()}, data=data))


ODD: dict[str, tuple[list[Any], str]] = {
    "two": ([{}, {}], "a message has one argument, and this one has 2"),
    "bytes": ([_raw(b"abc", "binary/plain")], "its encoding is 'binary/plain'; a message is JSON"),
    "unknown": ([_raw(b"{}", "what/ever")], "its encoding is 'what/ever'"),
    "broken": ([_raw(b"{no")], "it is no JSON"),
    "no number": ([_raw(b'{"payload": NaN}')], "'payload' is not a JSON number"),
    "key twice": ([_raw(b'{"by": "ann", "by": "bob"}')], "it has the key 'by' twice"),
    "deep": ([_raw(b"[" * 150 + b"]" * 150)], "it is nested deeper than the 100 levels"),
}
"""What is sent, and what is said of it."""


@pytest.fixture
async def here(env: WorkflowEnvironment, tmp_path: Path) -> AsyncGenerator[Engine]:
    async with engine(env, tmp_path, []) as made:
        yield made


async def _approved(handle: Handle) -> None:
    """The run still does what it is there for, and never stood still."""
    request = await asked(handle)
    await handle.execute_update("decide", {"id": request["id"], "decision": "approve"})
    await handle.signal("word", "fine")
    assert (await asyncio.wait_for(handle.result(), 120))["output"]["word"] == "fine"
    kinds = [event.event_type for event in (await handle.fetch_history()).events]
    assert EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED not in kinds


async def _refusal(handle: Handle, update: str, given: list[Any]) -> Any:
    with pytest.raises(WorkflowUpdateFailedError) as error:
        await handle.execute_update(update, args=given)
    return error.value.cause


@pytest.mark.parametrize("case", ODD)
async def test_malformed_message_is_refused_and_the_run_continues(here: Engine, case: str) -> None:
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
        with pytest.raises(WorkflowQueryFailedError, match="this is not a question; ask with"):
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
        ("Malformed", "this is not an answer to a request: the key 'id' is missing"),
        ("Malformed", "this is not an answer to a request: the key 'id' is missing"),
        ("Malformed", "this is not a skip: the key 'task' is missing"),
    ]
    assert (await _refusal(handle, "decide", [])).type == "Malformed"
    assert (await _refusal(handle, "amend", [])).message == (
        "this is not an amendment: the key 'updates' is missing"
    )
    nothing_failed = "no failed task waits for a decision; only tasks with `on_failure: ask` do"
    assert (await _refusal(handle, "retry", [])).message == nothing_failed
    assert (await handle.query("events"))["entries"]
    with pytest.raises(WorkflowQueryFailedError, match="this is not a question; ask with"):
        await handle.query("request")
    await _approved(handle)


async def test_an_update_and_a_query_of_an_unknown_name_are_refused_with_the_known_names(
    here: Engine,
) -> None:
    handle: Any = await here.start(WAITING)
    await asked(handle)
    before = len((await handle.fetch_history()).events)
    odd: list[list[Any]] = [[], [{}], [{}, {}], [_raw(b"abc", "binary/plain")]]
    for given in odd:
        refusal = await _refusal(handle, "decid", given)
        assert refusal.type == "Malformed"
        assert refusal.message == (
            "a run knows no update 'decid'; known are amend, decide, push, redirect, retry, "
            "say, send_message, skip; "
            "did you mean 'decide'?"
        )
        with pytest.raises(WorkflowQueryFailedError) as error:
            await handle.query("statsu", args=given)
        assert str(error.value) == (
            "a run knows no query 'statsu'; known are cost, events, pending, request, result, "
            "state, status; did you mean 'status'?"
        )
    kinds = [event.event_type for event in (await handle.fetch_history()).events[before:]]
    assert EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED not in kinds
    assert not [entry for entry in await trail(handle) if entry.kind == "refused"]
    await _approved(handle)


async def test_a_long_unknown_name_is_refused_briefly(here: Engine) -> None:
    handle: Any = await here.start(WAITING)
    await asked(handle)
    refusal = await _refusal(handle, "u" * 900, [])
    assert refusal.type == "Malformed"
    assert len(refusal.message) < 400
    await _approved(handle)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e400"])
async def test_a_raw_start_with_a_number_that_json_has_not_is_refused_with_its_path(
    here: Engine, number: str
) -> None:
    given = TeamInput(plan=plan_of(WAITING), context={"a": {"b": [1, "HERE"]}})
    text = given.model_dump_json(by_alias=True).replace('"HERE"', number)
    handle = await here.start_raw(_raw(text.encode()))
    error = await failure(handle)
    assert error.type == "RunRefused"
    assert "this is not the input of a run: 'context.a.b.1' is not a JSON number" in error.message


async def test_a_named_signal_without_an_argument_brings_null(here: Engine) -> None:
    handle: Any = await here.start(WAITING)
    request = await asked(handle)
    await handle.signal("word")
    await handle.execute_update("decide", {"id": request["id"], "decision": "approve"})
    assert (await asyncio.wait_for(handle.result(), 120))["output"]["word"] is None


LONG = "q" * 1_900_000
LONGEST_ANSWER = 1_100
"""Characters: a sentence, and that it goes on."""


@pytest.mark.parametrize(
    ("update", "given", "said"),
    [
        ("redirect", {"team": LONG}, "'team' must have at most 500 characters"),
        ("say", {"text": "x", "step": LONG}, "'step' must have at most 500 characters"),
        ("say", {"text": LONG}, "'text' must have at most 10000 characters"),
        ("retry", {"task": LONG}, "'task' must have at most 500 characters"),
        ("skip", {"task": LONG}, "'task' must have at most 500 characters"),
        ("skip", {"task": "sign", "why": LONG}, "'why' must have at most 10000"),
        ("skip", {"task": "sign", "value": LONG}, "`value` has 1,900,002 bytes, and 500,000 are"),
        ("amend", {"updates": {"q." * 400_000: 1}}, "a path has at most 300 characters and 50"),
        ("amend", {"updates": {"a." * 60 + "b": 1}}, "a path has at most 300 characters and 50"),
        ("amend", {"updates": {f"a{n}": 1 for n in range(101)}}, "at most 100 paths, not 101"),
        ("amend", {"updates": {"a": 1}, "by": LONG}, "'by' must have at most 200"),
        (
            "amend",
            {LONG: 1},
            "this is not an amendment: the key 'updates' is missing; unknown key 'qqq",
        ),
        ("decide", {LONG: 1, "id": "x"}, "qqq"),
    ],
)
async def test_long_message_is_refused_with_a_short_sentence(
    here: Engine, update: str, given: Any, said: str
) -> None:
    handle: Any = await here.start(WAITING)
    await asked(handle)
    refusal = await _refusal(handle, update, [given])
    assert said in refusal.message
    assert len(refusal.message) < LONGEST_ANSWER
    assert len(str(refusal.details)) < 2 * LONGEST_ANSWER
    await _approved(handle)


async def test_a_pause_is_reported_briefly_and_a_question_may_be_refused(here: Engine) -> None:
    handle: Any = await here.start(WAITING)
    await asked(handle)
    await handle.signal("pause", {"why": LONG})
    assert "paused" not in await handle.query("status")
    await handle.signal("pause", {"why": "q" * 10_000})
    assert len((await handle.query("status"))["paused"]["why"]) == 2_003
    for path in ("a." * 400_000, ["a"] * 400_000):
        with pytest.raises(WorkflowQueryFailedError, match="this is not a question"):
            await handle.query("state", {"path": path})
    await handle.signal("resume")
    refusals = [entry for entry in await trail(handle) if entry.kind == "refused"]
    assert [entry.status for entry in refusals] == ["Malformed"]
    assert len(refusals[0].because) < LONGEST_ANSWER
    await _approved(handle)


async def test_a_message_is_judged_where_the_run_stands_when_a_worker_takes_it_up(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    """Its first task asked for nothing, so the engine joins it with the task of the update."""
    async with engine(env, tmp_path, [], cached_runs=0) as forgetful:
        handle: Handle = await forgetful.start(WAITING)
        request = await asked(handle)
        right = {"id": request["id"], "decision": "approve"}
        assert (await _refusal(handle, "decide", [{}])).type == "Malformed"
        assert (await handle.execute_update("decide", right))["verdict"] == "approved"
        await handle.signal("word", "fine")
        assert (await asyncio.wait_for(handle.result(), 120))["output"]["word"] == "fine"
