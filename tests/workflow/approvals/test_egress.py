"""Calls that send data out, on a server: the question, and what it costs where nothing asks."""

from pathlib import Path
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from tests.support.engine import engine, trail
from tests.support.runs import asked, decide, scheduled
from tests.support.tool_agents import function_tool, persona, tool_plan

ANY: Json = {"type": "object"}
TOOLS: dict[str, Json] = {
    "look": function_tool("Files.list", input_schema=ANY, labels=["private"]),
    "page": function_tool("Files.list", input_schema=ANY, labels=["untrusted"]),
    "send": function_tool("Files.list", input_schema=ANY, labels=["egress"]),
}
LOOK: Json = {"tool": "look", "arguments": {}}
PAGE: Json = {"tool": "page", "arguments": {}}
SEND: Json = {"tool": "send", "arguments": {"path": "."}}


def plan(*, asks: bool = True) -> Plan:
    terms: Json | None = {} if asks else None
    return tool_plan(TOOLS, {"actor": persona(*TOOLS)}, egress_approval=terms)


def turn(number: int, *calls: Json, **more: Any) -> Json:
    return {"task": "act", "turn": number, "tool_calls": list(calls), **more}


async def test_an_injected_call_waits_for_a_person_and_sends_nothing(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    reasons = "ann rejected it: because"
    answers = [
        turn(1, LOOK, PAGE),
        turn(2, SEND),
        {"task": "act", "turn": 3, "answer": "Done.", "contains": reasons},
    ]
    async with engine(env, tmp_path, answers) as running:
        handle: Any = await running.start(plan())
        request = await asked(handle, env)
        await decide(handle, request["id"], "reject")
        await handle.result()
        entries = await trail(handle)
        calls = [one["input"]["key"] for one in await scheduled(handle) if "key" in one["input"]]
    assert request["id"] == "work/act/send@2.1#1"
    assert request["show"] == {"path": "."}
    assert [(one["label"], one["tool"]) for one in request["met"]] == [
        ("private", "look"),
        ("untrusted", "page"),
    ]
    assert not any("send@" in key for key in calls)
    noted = [(one.step, one.status) for one in entries if one.status in ("met", "asked")]
    assert sorted(noted) == [
        ("act/look@1.1", "met"),
        ("act/page@1.2", "met"),
        ("act/send@2.1", "asked"),
    ]
    (cause,) = [one.cause for one in entries if one.status == "asked"]
    assert cause is not None
    assert cause.code == "egress_asked"


@pytest.mark.parametrize("calls", [(LOOK, SEND), (PAGE, SEND), (SEND, LOOK, PAGE)])
async def test_a_run_that_asks_nothing_writes_no_further_event(
    env: WorkflowEnvironment, tmp_path: Path, calls: tuple[Json, ...]
) -> None:
    turns = [turn(number, call) for number, call in enumerate(calls, 1)]
    answers = [*turns, {"task": "act", "turn": len(calls) + 1, "answer": "Done."}]
    kinds: list[list[str]] = []
    for asks in (True, False):
        async with engine(env, tmp_path, answers) as running:
            handle: Any = await running.start(plan(asks=asks))
            await handle.result()
            history = await handle.fetch_history()
        kinds.append([EventType.Name(event.event_type) for event in history.events])
    assert kinds[0] == kinds[1]
