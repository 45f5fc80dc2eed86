"""Tools that run as local activities, on a server: events, limits, failures, replays."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from temporalio.api.enums.v1 import EventType
from temporalio.testing import WorkflowEnvironment

from coterie.activities.contracts import FunctionRequest
from coterie.activities.tool_functions.local_calls import MAX_LOCAL_RESULT
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json, JsonValue
from coterie.replay.replay import replay
from coterie.runs.histories.recorded_calls import recorded_calls
from coterie.workflows.temporal.activity_calls import MAX_LOCAL_CALLS
from tests.support.engine import engine, trail
from tests.support.tool_agents import function_tool, persona, tool_plan


async def wait_for_ever(value: dict[str, JsonValue], context: FunctionContext) -> None:
    """Wait until the call is cancelled."""
    await asyncio.Event().wait()


WAIT = ToolFunction[dict[str, JsonValue], None](
    name="Test.wait",
    description="Waits.",
    effect="read",
    input=TypeAdapter(dict[str, JsonValue]),
    output=TypeAdapter(type(None)),
    run=wait_for_ever,
)
LOCAL: Json = {"effect": "read", "timeout": 2, "retries": 0, "local_activity": True}
ANYTHING: Json = {"type": "object", "properties": {"path": {"type": "string"}}}


def plan(**of_tool: Any) -> Plan:
    tool = function_tool("Files.read", input_schema=ANYTHING, terms=LOCAL, **of_tool)
    return tool_plan({"look": tool}, {"actor": persona("look")})


def turn(number: int, *paths: str) -> Json:
    calls: list[JsonValue] = [{"tool": "look", "arguments": {"path": path}} for path in paths]
    return {"task": "act", "turn": number, "tool_calls": calls}


def done(number: int) -> Json:
    return {"task": "act", "turn": number, "answer": "Done."}


def kinds_of(history: Any) -> Counter[str]:
    return Counter(
        EventType.Name(event.event_type).removeprefix("EVENT_TYPE_") for event in history.events
    )


async def test_a_turn_with_two_local_calls_writes_eight_events_and_replays(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    (tmp_path / "long.txt").write_text("rain and wind\n" * 150)
    (tmp_path / "short.txt").write_text("sun")
    answers = [turn(1, "long.txt", "short.txt"), turn(2, "short.txt", "long.txt"), done(3)]
    async with engine(env, tmp_path, answers) as running:
        handle: Any = await running.start(plan())
        result = await handle.result()
        history = await handle.fetch_history()
        steps = [
            (one.step, one.status) for one in await trail(handle) if "look" in (one.step or "")
        ]
    assert result["output"] == {"act": {"text": "Done."}}
    kinds = kinds_of(history)
    assert kinds["MARKER_RECORDED"] == 4
    assert kinds["ACTIVITY_TASK_SCHEDULED"] == 3
    # 3 of each model turn, 1 of each call; and no workflow task for a call
    tasks = {kind: count for kind, count in kinds.items() if "WORKFLOW_TASK" in kind}
    assert kinds.total() - sum(tasks.values()) == 2 + 3 * 3 + 4
    assert kinds["WORKFLOW_TASK_COMPLETED"] < 4 + 4
    assert steps[:2] == [("act/look@1.1", "started"), ("act/look@1.2", "started")]
    assert {status for _, status in steps} == {"started", "success"}
    replayed = await replay(history)
    assert replayed.differences == ()
    # what is read from a history: as of activities
    shown = [one for one in recorded_calls(history) if one.is_local]
    assert [one.path for one in shown] == [
        f"work/act/look@{n}" for n in ("1.1", "1.2", "2.1", "2.2")
    ]
    asked = [one.request for one in shown if one.outcome is not None]
    assert [one.input for one in asked if isinstance(one, FunctionRequest)] == [
        {"path": path} for path in ("long.txt", "short.txt", "short.txt", "long.txt")
    ]


async def test_local_calls_fail_like_activities(env: WorkflowEnvironment, tmp_path: Path) -> None:
    (tmp_path / "large.txt").write_text("x" * (MAX_LOCAL_RESULT + 1))
    answers = [turn(1, "missing.txt", "../outside", "large.txt"), done(2)]
    unkept = {"actor": persona("look", tool_policy=[{"tool": "look", "exit_on_success": True}])}
    tool = function_tool("Files.read", input_schema=ANYTHING, terms=LOCAL)
    async with engine(env, tmp_path, answers) as running:
        handle: Any = await running.start(tool_plan({"look": tool}, unkept))
        await handle.result()
        history = await handle.fetch_history()
        reasons = {one.step: one.because for one in await trail(handle) if one.status == "failure"}
    assert kinds_of(history)["MARKER_RECORDED"] == 3
    assert {step: because.partition(":")[0] for step, because in reasons.items()} == {
        "act/look@1.1": "FunctionFailed",
        "act/look@1.2": "FunctionRefused",
        "act/look@1.3": "FunctionFailed",
    }
    assert "a local activity returns at most 64000" in reasons["act/look@1.3"]
    shown = [one.error.partition(":")[0] for one in recorded_calls(history) if one.is_local]
    assert shown == ["FunctionFailed", "FunctionRefused", "FunctionFailed"]
    assert (await replay(history)).differences == ()


async def test_a_local_call_that_takes_too_long_fails_by_name(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    """Its own limit holds, not that of the workflow task."""
    slow: Json = {"effect": "read", "timeout": 0.1, "retries": 0, "local_activity": True}
    code: Json = {"type": "object", "properties": {"code": {"type": "string"}}}
    tool = function_tool("Test.wait", input_schema=code, terms=slow)
    calls: list[JsonValue] = [{"tool": "wait", "arguments": {}}]
    answers: list[Json] = [{"task": "act", "turn": 1, "tool_calls": calls}, done(2)]
    async with engine(env, tmp_path, answers, functions={"Test.wait": WAIT}) as running:
        handle: Any = await running.start(tool_plan({"wait": tool}, {"actor": persona("wait")}))
        await handle.result()
        reasons = [one.because for one in await trail(handle) if one.status == "failure"]
    assert reasons == ["Timeout: work/act/wait@1.1: Test.wait did not answer within 0.1 s"]


async def test_more_local_calls_in_a_row_than_a_workflow_task_takes_become_activities(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    many = [f"{number}.txt" for number in range(MAX_LOCAL_CALLS + 2)]
    for name in many:
        (tmp_path / name).write_text(name)
    answers = [turn(1, *many), turn(2, *many[:2]), done(3)]
    async with engine(env, tmp_path, answers) as running:
        handle: Any = await running.start(plan())
        await handle.result()
        history = await handle.fetch_history()
    kinds = kinds_of(history)
    assert kinds["MARKER_RECORDED"] == MAX_LOCAL_CALLS + 2
    assert kinds["ACTIVITY_TASK_SCHEDULED"] == 3 + 2
    assert (await replay(history)).differences == ()
