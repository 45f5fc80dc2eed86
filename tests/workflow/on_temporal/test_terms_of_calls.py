"""What holds for every tool holds for those on Temporal: as a step, and for an agent."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.exceptions import CancelledError, TimeoutError

from coterie.dsl.values import Json
from tests.support.engine import Engine, engine, trail
from tests.support.others.foreign_worker import fulfilled
from tests.support.others.temporal_plans import on_temporal, plan_calling
from tests.support.runs import asked, decide, failure
from tests.workflow.on_temporal.conftest import World, replay

Caller = Literal["step", "agent"]
_NUMBERS = count(1000)


class Call(NamedTuple):
    """One call of a tool, which no other test makes."""

    kind: str
    tool: str
    arguments: Json

    def made(self, world: World) -> int:
        """How often it was made."""
        if self.kind == "activity":
            return world.theirs.calls.count(self.arguments)
        return fulfilled.count(self.arguments)


def call(tool: str, **more: Any) -> Call:
    kinds = {"charge": "activity", "try": "activity", "settle": "nexus"}
    number = next(_NUMBERS)
    own: Json = {"amount": number} if tool in ("charge", "try") else {"order": f"t{number}"}
    return Call(kinds.get(tool, "workflow"), tool, {**own, **more})


def plan_of(made: Call, caller: Caller, step: Json | None = None, **more: Any) -> Any:
    """A plan in which a step, or an agent, makes the call once."""
    terms, persona = more.pop("terms", {}), more.pop("persona", {})
    tools = {made.tool: {made.kind: made.tool, **terms}, **more.pop("tools", {})}
    if caller == "step":
        task = {"name": "act", "tool": made.tool, "arguments": made.arguments}
    else:
        task = {"name": "act", "persona_key": "actor"}
    actor = {"prompts": {"user": "Act."}, "tools": list(tools), **persona}
    models = {"default_provider": "scripted", "default_model": "demo", "personas": {"actor": actor}}
    tasks = [{**task, **(step or {})}, *more.pop("then", [])]
    return plan_calling(tasks, tools=tools, llm_config=models, **more)


def turns(made: Call, *further: Json) -> list[Json]:
    """What the model says: it makes the call, and ends."""
    wanted: Json = {"tool": made.tool, "arguments": made.arguments}
    first: Json = {"task": "act", "turn": 1, "tool_calls": [wanted]}
    end: Json = {"task": "act", "turn": 2, "answer": "Done."}
    return [first, *(further or (end,))]


@asynccontextmanager
async def worker(world: World, folder: Path, made: Call, *further: Json) -> AsyncGenerator[Engine]:
    """A worker whose model makes the call."""
    said = turns(made, *further)
    async with engine(world.env, folder, said, on_temporal=on_temporal()) as running:
        yield running


EVERY = pytest.mark.parametrize("tool", ["charge", "fulfil", "begin", "settle"])
BOTH = pytest.mark.parametrize("caller", ["step", "agent"])


@EVERY
@BOTH
@pytest.mark.parametrize("decision", ["approve", "reject"])
async def test_a_call_waits_for_its_approval_and_is_made_once_or_never(
    world: World, tmp_path: Path, tool: str, caller: Caller, decision: str
) -> None:
    made = call(tool)
    plan = plan_of(made, caller, terms={"requires_approval": {"approvers": ["ann"]}})
    async with worker(world, tmp_path, made) as running:
        handle: Any = await running.start(plan)
        request = await asked(handle)
        assert (request["show"], made.made(world)) == (made.arguments, 0)
        assert (request["call"]["name"], request["call"]["effect"]) == (tool, "once")
        await decide(handle, request["id"], decision)
        if decision == "reject" and caller == "step":
            assert "rejected" in (await failure(handle)).message
        else:
            await asyncio.wait_for(handle.result(), 40)
        await replay(handle)
    assert made.made(world) == (decision == "approve")


@pytest.mark.parametrize("tool", ["charge", "fulfil", "settle"])
async def test_a_budget_of_calls_ends_an_agent_before_the_call_that_it_lacks(
    world: World, tmp_path: Path, tool: str
) -> None:
    made, second = call(tool), call(tool)
    wanted: Json = {"tool": tool, "arguments": second.arguments}
    plan = plan_of(made, "agent", persona={"budgets": {"tool_calls": 1}})
    more: Json = {"task": "act", "turn": 2, "tool_calls": [wanted]}
    async with worker(world, tmp_path, made, more) as running:
        error = await failure(await running.start(plan))
    assert error.details[0]["end"] == "budget_tool_calls"
    assert (made.made(world), second.made(world)) == (1, 0)


@pytest.mark.parametrize(
    ("tool", "more", "times"),
    [
        ("charge", {"fails": "Broken"}, 1),  # nobody knows whether it happened
        ("charge", {"fails": "CardDeclined"}, 3),  # nothing has happened
        ("try", {"fails": "Broken"}, 3),
        ("fulfil", {"fails": "NoStock"}, 1),
        ("order", {"fails": "NoStock"}, 3),
        ("settle", {"fails": "NoStock"}, 1),
    ],
)
async def test_a_step_that_fails_is_tried_again_only_if_its_call_may_be(
    world: World, tmp_path: Path, tool: str, more: Json, times: int
) -> None:
    made = call(tool, **more)
    plan = plan_of(made, "step", {"retry": {"retries": 2}})
    async with worker(world, tmp_path, made) as running:
        handle: Any = await running.start(plan)
        await failure(handle)
        await replay(handle)
    assert made.made(world) == times


@pytest.mark.parametrize("tool", ["charge", "fulfil", "settle"])
async def test_an_agent_reads_that_nobody_knows_whether_its_call_happened(
    world: World, tmp_path: Path, tool: str
) -> None:
    made = call(tool, fails="NoStock")
    words = "whether it happened is not known"
    end: Json = {"task": "act", "turn": 2, "answer": "I ask somebody.", "contains": words}
    async with worker(world, tmp_path, made, end) as running:
        handle: Any = await running.start(plan_of(made, "agent"))
        result = await asyncio.wait_for(handle.result(), 40)
        await replay(handle)
    assert result["output"] == {"act": {"text": "I ask somebody."}}
    assert made.made(world) == 1


@pytest.mark.parametrize("tool", ["charge", "fulfil", "settle"])
@BOTH
async def test_a_fork_after_a_call_does_not_make_it_again(
    world: World, tmp_path: Path, tool: str, caller: Caller
) -> None:
    made = call(tool)
    teams: Json = {
        "work": {
            "tasks": [
                {"name": "act", "tool": tool, "arguments": made.arguments}
                if caller == "step"
                else {"name": "act", "persona_key": "actor"}
            ],
            "routing": {"default": "last"},
        },
        "last": {"tasks": [{"name": "say", "type": "set", "values": {"x": "{{ context.who }}"}}]},
    }
    context: Json = {"who": {"type": "string", "default": "ann"}}
    orchestration = {"entry_team": "work", "teams": teams, "context": context}
    plan = plan_of(made, caller, orchestration=orchestration)
    async with worker(world, tmp_path, made) as running:
        first: Any = await running.start(plan)
        await asyncio.wait_for(first.result(), 40)
        fork: Any = await running.start_raw(
            {"fork": {"run": first.id, "at": "last#1", "updates": {"who": "ben"}, "by": "ann"}}
        )
        assert (await asyncio.wait_for(fork.result(), 40))["output"]["say"] == {"x": "ben"}
    assert made.made(world) == 1


@pytest.mark.parametrize("tool", ["fulfil", "order", "settle"])
@BOTH
async def test_a_step_out_of_time_ends_its_call(
    world: World, tmp_path: Path, tool: str, caller: Caller
) -> None:
    made = call(tool, waits=True)
    plan = plan_of(made, caller, {"timeout": 6})
    async with worker(world, tmp_path, made) as running:
        handle: Any = await running.start(plan)
        error = await failure(handle)
        entries = await trail(handle)
        await replay(handle)
    assert made.made(world) == 1
    told = error.message + " ".join(entry.because for entry in entries)
    assert ("OutcomeUnknown" in told) == (tool != "order"), told
    if tool == "fulfil":
        return  # its id is the run's own
    other = world.env.client.get_workflow_handle(f"{tool}-{made.arguments['order']}")
    if (tool, caller) == ("settle", "step"):  # Temporal cancels no operation that is out of time
        assert (await other.describe()).status == WorkflowExecutionStatus.RUNNING
        await other.terminate()
        return
    with pytest.raises(WorkflowFailureError) as ended:
        await asyncio.wait_for(other.result(), 20)
    assert isinstance(ended.value.cause, CancelledError | TimeoutError)


@EVERY
@BOTH
async def test_a_call_that_sends_data_out_asks_once_the_run_has_met_both_kinds(
    world: World, tmp_path: Path, tool: str, caller: Caller
) -> None:
    made = call(tool)
    look = {"skill": "Files.list", "labels": ["private"]}
    page = {"skill": "Files.list", "labels": ["untrusted"]}
    read = [{"name": name, "tool": name, "arguments": {"path": "."}} for name in ("look", "page")]
    orchestration = {
        "entry_team": "read",
        "teams": {
            "read": {"tasks": read, "routing": {"default": "work"}},
            "work": {
                "tasks": [
                    {"name": "act", "tool": tool, "arguments": made.arguments}
                    if caller == "step"
                    else {"name": "act", "persona_key": "actor"}
                ]
            },
        },
    }
    plan = plan_of(
        made,
        caller,
        terms={"labels": ["egress"]},
        tools={"look": look, "page": page},
        orchestration=orchestration,
    )
    async with worker(world, tmp_path, made) as running:
        handle: Any = await running.start(plan)
        request = await asked(handle)
        assert {one["label"] for one in request["met"]} == {"private", "untrusted"}
        assert made.made(world) == 0
        await decide(handle, request["id"], "reject")
        if caller == "step":
            await failure(handle)
        else:
            await asyncio.wait_for(handle.result(), 40)
    assert made.made(world) == 0
