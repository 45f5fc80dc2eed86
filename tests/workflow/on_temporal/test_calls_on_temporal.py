"""Runs that call activities, workflows and Nexus operations of others, on a real server."""

import asyncio
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import CancelledError

from coterie.dsl.model.plan import Plan
from coterie.dsl.model.step_kinds.step_base import FunctionTerms
from coterie.dsl.model.tools.tool_contract import ActivityTool
from coterie.runs.effects_ledger import effects_of
from coterie.runs.histories.recorded_calls import recorded_calls
from tests.support.others.temporal_plans import plan_calling
from tests.support.runs import failure
from tests.workflow.on_temporal.conftest import World, replay


@pytest.mark.parametrize(
    ("tool", "arguments", "result"),
    [
        ("charge", {"amount": 3}, {"charged": 3, "attempt": 1}),
        ("sum", {"left": 3, "right": 4}, 7),
        ("fulfil", {"order": "7"}, {"order": "7", "paid": None}),
        ("order", {"order": "8"}, {"order": "8", "paid": None}),
        ("quote", {"item": "book"}, {"price": 7, "item": "book"}),
        ("settle", {"order": "9"}, {"order": "9", "paid": None}),
    ],
)
async def test_a_step_calls_what_already_runs(
    world: World, tool: str, arguments: dict[str, Any], result: Any
) -> None:
    assert await world.run(tool, arguments) == result


@pytest.mark.parametrize(
    ("tool", "arguments", "type", "message"),
    [
        ("charge", {"amount": 1, "fails": "CardDeclined"}, "CardDeclined", "no"),
        ("charge", {"amount": 1, "fails": "Broken"}, "OutcomeUnknown", "Broken: no"),
        ("charge", {"amount": 1, "fails": "Skipped"}, "OutcomeUnknown", "Skipped: no"),
        ("charge", {"amount": "many"}, "FunctionRefused", "amount"),
        ("secret", {}, "OutcomeUnknown", "binary/encrypted"),
        ("readable", {}, "FunctionFailed", "binary/encrypted"),
        ("large", {"size": 1_200_000}, "FunctionFailed", "1,200,002 bytes"),
        ("large", {"size": 2_200_000}, "FunctionFailed", "larger than Temporal takes"),
        ("nowhere", {}, "Timeout", "no worker of the task queue 'nobody'"),
        ("missing", {}, "OutcomeUnknown", "did not answer in time"),
        ("fulfil", {"fails": "NoStock"}, "OutcomeUnknown", "NoStock: nothing left"),
        ("fulfil", {"encrypted": True}, "OutcomeUnknown", "binary/encrypted"),
        ("settle", {"order": "10", "encrypted": True}, "OutcomeUnknown", "binary/encrypted"),
        ("settle", {"order": "11", "fails": "NoStock"}, "OutcomeUnknown", "NoStock"),
        ("quote", {"refused": True}, "FunctionFailed", "no such item"),
        ("outcome", {"order": "none"}, "FunctionRefused", "no such workflow"),
        ("pay", {"order": "none", "by": "ann"}, "FunctionRefused", "no such workflow"),
        ("order", {"order": ["7"]}, "FunctionRefused", "order"),
    ],
)
async def test_a_call_that_fails_is_a_named_failure_of_its_step(
    world: World, tool: str, arguments: dict[str, Any], type: str, message: str
) -> None:
    found, why = await world.run(tool, arguments)
    assert (found, message in why) == (type, True), why


async def test_a_result_that_is_too_large_is_not_made_again(world: World) -> None:
    world.theirs.calls.clear()
    await world.run("large", {"size": 2_200_000})
    assert world.theirs.calls == ["large"]


async def test_a_run_starts_a_workflow_that_outlives_it_signals_it_and_waits_for_its_result(
    world: World,
) -> None:
    order = "{{ context.given.order }}"
    tasks = [
        {"name": "begin", "tool": "begin", "arguments": {"order": order, "waits": True}},
        {"name": "pay", "tool": "pay", "arguments": {"order": order, "by": "ann"}},
        {"name": "call", "tool": "outcome", "arguments": {"order": order}},
    ]
    handle = await world.ours.start(plan_calling(tasks), {"given": {"order": "12"}})
    assert await world.end(handle) == {"order": "12", "paid": {"by": "ann"}}
    result: Any = await handle.result()
    assert result["output"]["begin"]["workflow_id"] == "begun-12"
    assert result["output"]["pay"] == {"workflow_id": "begun-12"}


async def test_a_workflow_with_an_id_of_its_own_is_not_started_again_once_it_has_completed(
    world: World,
) -> None:
    assert await world.run("order", {"order": "13"}) == {"order": "13", "paid": None}
    type, why = await world.run("order", {"order": "13"})
    assert (type, "runs already, or has completed" in why) == ("FunctionRefused", True)


_BEGUN = (
    EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED,
    EventType.EVENT_TYPE_NEXUS_OPERATION_STARTED,
)


async def until(handle: Any, what: str) -> None:
    """Wait until the run has begun what it calls."""
    async for event in handle.fetch_history_events(wait_new_event=True):
        if event.event_type in _BEGUN:
            return
    raise AssertionError(f"the run ended before {what}")


@pytest.mark.parametrize(
    ("tool", "arguments", "sign"),
    [
        ("slow", {}, "slow was cancelled"),
        ("order", {"order": "14", "waits": True}, "order-14"),
        ("settle", {"order": "15", "waits": True}, "settle-15"),
    ],
)
async def test_a_cancelled_run_cancels_what_it_calls(
    world: World, tool: str, arguments: dict[str, Any], sign: str
) -> None:
    plan = plan_calling([{"name": "call", "tool": tool, "arguments": "{{ context.given }}"}])
    handle: Any = await world.ours.start(plan, {"given": arguments})
    async with asyncio.timeout(30):
        if tool == "slow":
            await world.theirs.slow_began.wait()
        else:
            await until(handle, sign)
        await handle.cancel()
        with pytest.raises(WorkflowFailureError) as error:
            await handle.result()
    assert isinstance(error.value.cause, CancelledError)
    await replay(handle)
    if tool == "slow":
        assert sign in world.theirs.calls
        return
    other = world.ours.client.get_workflow_handle(sign)
    with pytest.raises(WorkflowFailureError) as error:
        await asyncio.wait_for(other.result(), 20)
    assert isinstance(error.value.cause, CancelledError)


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        ("lost", "the server has no Nexus endpoint 'nowhere'"),
        ("unpolled", "no worker polls the task queue 'nobody'"),
    ],
)
async def test_a_run_is_refused_before_it_begins_when_what_it_calls_is_not_there(
    world: World, tool: str, why: str
) -> None:
    plan = plan_calling([{"name": "call", "tool": tool, "arguments": {}}])
    error = await failure(await world.ours.start(plan))
    assert (error.type, why in error.message) == ("RunRefused", True), error


def changed(plan: Plan, **update: Any) -> Plan:
    """The plan with another target of its tool."""
    (tool,) = plan.tools.values()
    assert isinstance(tool, ActivityTool)
    target = tool.target.model_copy(update=update.pop("target", {}))
    made = tool.model_copy(update={**update, "target": target})
    return plan.model_copy(update={"tools": dict.fromkeys(plan.tools, made)})


READS = FunctionTerms(effect="read", timeout=60, retries=5)


@pytest.mark.parametrize(
    "update",
    [
        {"target": {"task_queue": "elsewhere"}},
        {"target": {"type": "refund"}},
        {"target": {"failures_without_effect": ("Broken",)}},
        {"terms": READS},
        {"labels": ()},
        {"activity": "sum"},
        {"activity": "else"},
    ],
    ids=str,
)
async def test_a_plan_cannot_reach_or_relax_more_than_the_worker_allows(
    world: World, update: dict[str, Any]
) -> None:
    plan = plan_calling([{"name": "call", "tool": "charge", "arguments": {"amount": 1}}])
    world.theirs.calls.clear()
    error = await failure(await world.ours.start(changed(plan, **update)))
    assert (error.type, world.theirs.calls) == ("RunRefused", [])


async def test_a_call_adds_no_more_events_than_temporal_needs(world: World) -> None:
    plan = plan_calling([{"name": "call", "tool": "charge", "arguments": {"amount": 1}}])
    handle: Any = await world.ours.start(plan)
    await handle.result()
    names = [event.event_type for event in (await handle.fetch_history()).events]
    assert names.count(EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED) == 1
    assert names.count(EventType.EVENT_TYPE_MARKER_RECORDED) == 1  # the check at its start
    assert len(names) == 12


@pytest.mark.parametrize(
    ("tool", "arguments", "certainty"),
    [
        ("charge", {"amount": 3}, "done"),
        ("charge", {"amount": 3, "fails": "CardDeclined"}, "not done"),
        ("charge", {"amount": 3, "fails": "FunctionRefused"}, "unknown"),
        ("nowhere", {}, "not done"),
        ("fulfil", {"order": "20"}, "done"),
        ("fulfil", {"fails": "NoStock"}, "unknown"),
        ("begin", {"order": "21"}, "done"),
        ("settle", {"order": "22"}, "done"),
        ("settle", {"order": "23", "fails": "NoStock"}, "unknown"),
    ],
)
async def test_the_ledger_says_of_a_call_whether_it_has_happened(
    world: World, tool: str, arguments: dict[str, Any], certainty: str
) -> None:
    plan = plan_calling([{"name": "call", "tool": tool, "arguments": "{{ context.given }}"}])
    handle: Any = await world.ours.start(plan, {"given": arguments})
    await world.end(handle)
    calls = recorded_calls(await handle.fetch_history())
    (row,) = effects_of(plan, calls, has_ended=True)
    assert (row.certainty, row.skill, row.step) == (certainty, tool, "work#1/call")
    assert row.input == arguments
