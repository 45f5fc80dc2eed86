"""Code mode on a server: the events of a program, people who take days, and budgets."""

from collections import Counter
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from temporalio.testing import WorkflowEnvironment

from coterie.activities.storage.blobs import MemoryBlobs
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Frozen, Json
from coterie.workflows.core.messages import TeamInput
from tests.support.engine import Engine, engine, trail
from tests.support.runs import asked, decide, failure, scheduled
from tests.support.tool_agents import function_tool, persona, tool_plan

ORDER: Json = {
    "type": "object",
    "properties": {"order": {"type": "integer"}},
    "required": ["order"],
    "additionalProperties": False,
}
ONCE: Json = {"effect": "once", "timeout": 60, "retries": 0}
PAY: Json = {"skill": "Shop.pay", "terms": ONCE, "input_schema": ORDER}


class Order(Frozen):
    """What is paid."""

    order: int


def shop(paid: list[int]) -> ToolFunction[Order, int]:
    """A shop that notes what is paid."""

    async def pay(value: Order, context: FunctionContext) -> int:
        paid.append(value.order)
        return value.order * 10

    return ToolFunction(
        name="Shop.pay",
        description="Pays an order.",
        effect="once",
        input=TypeAdapter(Order),
        output=TypeAdapter(int),
        run=pay,
    )


def plan(pay: Json | None = None, **more: Any) -> Plan:
    tools: dict[str, Json] = {"code": function_tool("Python.run"), "pay": pay or PAY}
    return tool_plan(tools, {"actor": persona(*tools, code_mode=True)}, **more)


def program(code: str, contains: str) -> list[Json]:
    """A model that writes a program, and reads its end."""
    call: Json = {"tool": "code", "arguments": {"code": code}}
    return [
        {"task": "act", "turn": 1, "tool_calls": [call]},
        {"task": "act", "turn": 2, "answer": "Done.", "contains": contains},
    ]


TWENTY = "sum([await pay(order=n) for n in range(20)])"


async def test_twenty_calls_are_one_activity_each_and_one_for_each_resume(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    paid: list[int] = []
    answers = program(TWENTY, '"value":1900')
    async with engine(env, tmp_path, answers, functions={"Shop.pay": shop(paid)}) as running:
        handle: Any = await running.start(plan())
        result = await handle.result()
        calls = await scheduled(handle)
        history = await handle.fetch_history()
    made = Counter(one["input"].get("skill", "a model turn") for one in calls)
    assert made == {"Shop.pay": 20, "Python.run": 21, "a model turn": 2}
    assert paid == list(range(20))
    assert (result["model_calls"], result["function_calls"]) == (2, 41)
    # nothing but the activities, and the workflow tasks between them
    assert len(history.events) == 2 + 3 * 43 + 3 * 44
    states = [one["input"]["code"].get("state", {}) for one in calls if "code" in one["input"]]
    assert all(set(state) == {"kept", "size"} for state in states[1:])


async def test_an_approval_in_a_program_waits_for_days_without_a_worker(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    paid: list[int] = []
    functions, blobs = {"Shop.pay": shop(paid)}, MemoryBlobs()
    answers = program("[await pay(order=1), await pay(order=2), await pay(order=3)]", "[10,20,30]")
    approved: Json = {**PAY, "requires_approval": {"approvers": ["ada"]}}
    queue = "code-mode-approvals"

    def worker() -> AbstractAsyncContextManager[Engine]:
        """One that keeps no run in memory, so that the next one gets all of its tasks."""
        return engine(
            *(env, tmp_path, answers),
            functions=functions,
            blobs=blobs,
            name=queue,
            cached_runs=0,
        )

    handle: Any = await env.client.start_workflow(
        "TeamWorkflow", TeamInput(plan=plan(approved)), id=queue, task_queue=queue
    )
    async with worker():
        request = await asked(handle, env)
    for number in (1, 2):
        assert request["id"] == f"work/act/code@1.1/pay@{number}.1#1"
        assert request["show"] == {"order": number}
        assert len(paid) == number - 1
        await env.sleep(timedelta(days=4))
        async with worker():
            await decide(handle, request["id"], "approve", by="ada")
            request = await asked(handle, env)
    await env.sleep(timedelta(days=4))
    async with worker():
        await decide(handle, request["id"], "approve", by="ada")
        result = await handle.result()
        entries = await trail(handle)
    assert result["output"] == {"act": {"text": "Done."}}
    assert paid == [1, 2, 3]
    ended = [one.step for one in entries if one.status == "success" and "@" in (one.step or "")]
    assert ended == [
        "act/code@1.1/pay@1.1",
        "act/code@1.1/pay@2.1",
        "act/code@1.1/pay@3.1",
        "act/code@1.1",
    ]


async def test_a_budget_of_tool_calls_counts_each_call_of_a_program(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    paid: list[int] = []
    budget: Json = {
        "scope": "persona",
        "name": "actor",
        "kind": "tool_calls",
        "limit": 4,
        "on_exceeded": "stop",
    }
    of = plan().model_dump(mode="json", by_alias=True, exclude_defaults=True)
    limited = Plan.model_validate({**of, "budgets": [budget]}).with_digest()
    answers = program(TWENTY, "never")
    async with engine(env, tmp_path, answers, functions={"Shop.pay": shop(paid)}) as running:
        handle: Any = await running.start(limited)
        error = await failure(handle)
    assert error.type == "BudgetExceeded"
    assert paid == [0, 1, 2]  # the program itself is the fourth
