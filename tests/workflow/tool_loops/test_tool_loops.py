"""Agents that use tools, on a server: events, histories, approvals, crashes, ways to fail."""

from collections import Counter
from pathlib import Path
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json, JsonValue
from tests.support.engine import engine, trail
from tests.support.runs import asked, decide, failure, scheduled
from tests.support.servers.temporal_server import suggesting_after
from tests.support.tool_agents import function_tool, persona, tool_plan

PATH: Json = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
    "additionalProperties": False,
}
TOOLS: dict[str, Json] = {
    "look": function_tool(input_schema=PATH),
    "guarded": function_tool(input_schema=PATH, requires_approval={"editable": True}),
    "count": function_tool("SemanticIterator.initialize", input_schema={"type": "object"}),
}


def plan(**of_persona: JsonValue) -> Plan:
    return tool_plan(TOOLS, {"actor": persona(*TOOLS, **of_persona)})


def turn(number: int, *calls: Json, **more: JsonValue) -> Json:
    return {"task": "act", "turn": number, "tool_calls": list(calls), **more}


def look(path: str = ".") -> Json:
    return {"tool": "look", "arguments": {"path": path}}


DONE: Json = {"task": "act", "answer": "Done."}


def asked_in(event: HistoryEvent) -> int:
    """The workflow task that asked for an event; 0 if none did."""
    body: Any = getattr(event, event.WhichOneof("attributes") or "", None)
    return getattr(body, "workflow_task_completed_event_id", 0)


async def test_a_turn_and_a_call_write_the_events_of_one_activity_each(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    answers = [turn(1, look(), look("answers.yml")), turn(2, look()), {**DONE, "turn": 3}]
    async with engine(env, tmp_path, answers) as running:
        handle: Any = await running.start(plan())
        result = await handle.result()
        assert result["output"] == {"act": {"text": "Done."}}
        history = await handle.fetch_history()
    kinds = Counter(EventType.Name(event.event_type) for event in history.events)
    for kind in ("SCHEDULED", "STARTED", "COMPLETED"):
        assert kinds.pop(f"EVENT_TYPE_ACTIVITY_TASK_{kind}") == 6
    assert {kind for kind in kinds if "WORKFLOW_TASK" not in kind} == {
        "EVENT_TYPE_WORKFLOW_EXECUTION_STARTED",
        "EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED",
    }
    # the start, three turns that end, and the last call of a turn, twice
    assert len({asked for asked in map(asked_in, history.events) if asked}) == 6


async def test_large_results_and_earlier_turns_stay_outside_the_history(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    (tmp_path / "long.txt").write_text("rain and wind " * 2000)
    turns = [turn(number, look(), text) for number, text in enumerate([look("long.txt")] * 6, 1)]
    answers = [*turns, {**DONE, "turn": 7}]
    async with engine(env, tmp_path, answers) as running:
        handle: Any = await running.start(plan())
        await handle.result()
        calls = await scheduled(handle)
        history = await handle.fetch_history()
    assert b"rain and wind" not in b"".join(e.SerializeToString() for e in history.events)
    later = [one["input"] for one in calls if one["type"] == "run_agent"][1:]
    assert all("persona" not in one and "inputs" not in one for one in later)
    assert all("offered" not in one["tool_turn"] for one in later)


async def test_each_call_of_a_turn_fails_in_its_own_way(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    ways: list[Json] = [
        {"tool": "lok", "arguments": {}},
        {"tool": "look", "arguments": "{broken"},
        {"tool": "look", "arguments": {"path": 3}},
        look("../outside"),
        look("missing"),
        {"tool": "guarded", "arguments": {"path": "."}},
        {"tool": "count", "arguments": {"nothing": 1}},
        look("answers.yml"),
    ]
    answers = [turn(1, *ways), {**DONE, "turn": 2, "contains": "ann rejected it: because"}]
    async with engine(env, tmp_path, answers) as running:
        handle: Any = await running.start(plan())
        request = await asked(handle, env)
        assert request["id"] == "work/act/guarded@1.6#1"
        await decide(handle, request["id"], "reject")
        await handle.result()
        reasons = [(one.step, one.status, one.because) for one in await trail(handle)]
        calls = await scheduled(handle)
    refused = [because for _, status, because in reasons if status == "refused"]
    assert [because.partition(":")[0] for because in refused] == [
        "there is no tool 'lok'; tools",
        "the arguments of 'look' are invalid",
        "the arguments of 'look' are invalid",
    ]
    failed = {
        step: because.partition(":")[0] for step, status, because in reasons if status == "failure"
    }
    assert failed == {
        "act/look@1.4": "FunctionRefused",
        "act/look@1.5": "FunctionFailed",
        "act/guarded@1.6": "Rejected",
        "act/count@1.7": "FunctionRefused",
    }
    (later,) = [
        one["input"]
        for one in calls
        if one["type"] == "run_agent" and "persona" not in one["input"]
    ]
    assert [result.get("failed", False) for result in later["tool_turn"]["results"]] == [
        True
    ] * 7 + [False]


async def test_edited_arguments_run_and_the_result_says_so(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    answers = [
        turn(1, {"tool": "guarded", "arguments": {"path": "nowhere"}}),
        {**DONE, "turn": 2, "contains": '[A person changed the arguments: path: "nowhere" -> "."]'},
    ]
    async with engine(env, tmp_path, answers) as running:
        handle: Any = await running.start(plan())
        request = await asked(handle, env)
        assert request["show"] == {"path": "nowhere"}
        payload = {
            "id": request["id"],
            "decision": "approve",
            "by": "ann",
            "payload": {"path": "."},
        }
        await handle.execute_update("decide", payload)
        await handle.result()
        calls = await scheduled(handle)
    assert [one["input"]["input"] for one in calls if one["type"] == "call_function"] == [
        {"path": "."}
    ]


async def test_edited_arguments_are_checked_again(env: WorkflowEnvironment, tmp_path: Path) -> None:
    short: Json = {"type": "object", "properties": {"path": {"maxLength": 9}}}
    tools: dict[str, Json] = {"guarded": {**TOOLS["guarded"], "input_schema": short}}
    answers = [
        turn(1, {"tool": "guarded", "arguments": {"path": "."}}),
        {**DONE, "turn": 2, "contains": "InvalidArguments: a person changed the arguments"},
    ]
    async with engine(env, tmp_path, answers) as running:
        handle: Any = await running.start(tool_plan(tools, {"actor": persona("guarded")}))
        request = await asked(handle, env)
        payload = {"path": "much/too/long"}
        given = {"id": request["id"], "decision": "approve", "by": "ann", "payload": payload}
        await handle.execute_update("decide", given)
        result = await handle.result()
    assert result["function_calls"] == 0


async def test_a_person_skips_one_call_and_gives_its_result(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    answers = [
        turn(1, {"tool": "guarded", "arguments": {"path": "."}}, look()),
        {**DONE, "turn": 2, "contains": "a person skipped this call"},
    ]
    async with engine(env, tmp_path, answers) as running:
        handle: Any = await running.start(plan())
        request = await asked(handle, env)
        await handle.execute_update("skip", {"task": "guarded@1.1", "by": "ann"})
        await handle.result()
        found = {one.step: one.status for one in await trail(handle) if "@" in (one.step or "")}
    assert request["id"] == "work/act/guarded@1.1#1"
    assert found == {"act/guarded@1.1": "skipped", "act/look@1.2": "success"}


async def test_a_budget_of_tool_calls_counts_the_calls_of_models(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    answers = [turn(1, look(), look("answers.yml")), turn(2, look()), {**DONE, "turn": 3}]
    budget: Json = {
        "scope": "persona",
        "name": "actor",
        "kind": "tool_calls",
        "limit": 2,
        "on_exceeded": "stop",
    }
    of = plan().model_dump(mode="json", by_alias=True, exclude_defaults=True)
    limited = Plan.model_validate({**of, "budgets": [budget]}).with_digest()
    async with engine(env, tmp_path, answers) as running:
        handle: Any = await running.start(limited)
        error = await failure(handle)
        calls = await scheduled(handle)
    assert error.type == "BudgetExceeded"
    assert [one["type"] for one in calls] == [
        "run_agent",
        "call_function",
        "call_function",
        "run_agent",
    ]


async def test_a_loop_continues_as_new_between_its_calls_and_repeats_nothing(
    tmp_path: Path,
) -> None:
    answers: list[Json] = []
    for number in range(1, 9):
        for name in (f"f{number}", f"g{number}"):
            (tmp_path / name).write_text(name)
        answers.append(turn(number, look(f"f{number}"), look(f"g{number}")))
    tools = {"look": function_tool(input_schema={"type": "object"})}
    async with (
        suggesting_after(20) as server,
        engine(server, tmp_path, [*answers, {**DONE, "turn": 9}]) as running,
    ):
        handle: Any = await running.start(tool_plan(tools, {"actor": persona("look")}))
        result = await handle.result()
        first = await running.client.get_workflow_handle(
            handle.id, run_id=handle.first_execution_run_id
        ).describe()
    assert first.status is not None
    assert first.status.name == "CONTINUED_AS_NEW"
    assert result["output"] == {"act": {"text": "Done."}}
    assert (result["model_calls"], result["function_calls"]) == (9, 16)
