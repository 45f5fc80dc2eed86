"""A run that is left because a budget is used up: no call begins, those in progress end."""

import asyncio

import pytest

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
)
from coterie.dsl.errors import BudgetExceeded
from coterie.dsl.model.plan import Plan
from coterie.runs.in_process.local_scope import LocalScope
from coterie.workflows.approvals.decisions import record
from coterie.workflows.budgets.call_admission import admit_call
from coterie.workflows.core.location import Location, RunLeft
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.scope import Leaving
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_keys import MAIN
from tests.support.compiling import plan_of

PLAN = """
orchestration:
  entry_team: work
  budgets: {tool_calls: 2}
  teams:
    work:
      tasks: [{name: note, type: set, values: {n: 1}}]
"""
REST = "    rest: {tasks: [{name: note, type: set, values: {n: 1}}]}\n"
HERE = Location.of_visit(MAIN, "work", 1).at("note")


class Nowhere:
    async def run_agent(self, request: AgentRequest) -> AgentResponse:
        raise AssertionError(request)

    async def call_function(self, request: FunctionRequest) -> FunctionResult:
        raise AssertionError(request)


@pytest.fixture
def scope() -> LocalScope:
    plan: Plan = plan_of(PLAN)
    return LocalScope(plan, RunState(), Nowhere())


def used(scope: LocalScope) -> float:
    return scope.state.balances["run.tool_calls"].used if scope.state.balances else 0


async def call(scope: LocalScope) -> None:
    await admit_call(scope, HERE, (), "tool_calls")


async def stir(scope: LocalScope) -> None:
    """Let every way look again whether it may go on."""
    scope.signal("anything")
    for _ in range(5):
        await asyncio.sleep(0)


async def test_no_call_begins_while_the_run_is_left_and_each_asks_again_after_it(
    scope: LocalScope,
) -> None:
    first = scope.leaving = Leaving("the budget is used up")
    waiting = asyncio.create_task(call(scope))
    await stir(scope)
    assert (waiting.done(), used(scope)) == (False, 0)
    second = scope.leaving = Leaving("another budget is used up")
    first.abandoned = True
    await stir(scope)
    assert (waiting.done(), used(scope)) == (False, 0), "somebody else leaves by now"
    second.abandoned, scope.leaving = True, None
    await stir(scope)
    assert (waiting.done(), used(scope)) == (True, 1)
    await waiting


async def test_a_call_that_stood_still_is_refused_when_the_budget_was_used_up_meanwhile(
    scope: LocalScope,
) -> None:
    leaving = scope.leaving = Leaving("another budget is used up")
    waiting = asyncio.create_task(call(scope))
    await stir(scope)
    scope.leaving = None
    await call(scope)
    await call(scope)
    leaving.abandoned = True
    await stir(scope)
    with pytest.raises(BudgetExceeded, match="2 of 2 calls"):
        await waiting
    assert used(scope) == 2


async def test_a_run_is_left_when_its_calls_have_ended(scope: LocalScope) -> None:
    await call(scope)
    await call(scope)
    scope.in_flight = 1
    stopped = asyncio.create_task(call(scope))
    await stir(scope)
    assert not stopped.done()
    assert scope.leaving is not None
    scope.in_flight = 0
    await stir(scope)
    with pytest.raises(BudgetExceeded):
        await stopped
    assert scope.leaving is None


async def test_a_run_that_a_person_ends_is_left_when_its_calls_have_ended() -> None:
    asking = "{tool_calls: {limit: 2, on_exceeded: ask}}"
    scope = LocalScope(plan_of(PLAN.replace("{tool_calls: 2}", asking)), RunState(), Nowhere())
    await call(scope)
    await call(scope)
    scope.in_flight = 1
    asked = asyncio.create_task(call(scope))
    await stir(scope)
    (request,) = scope.state.pending
    given = DecideInput(id=request, decision="approve", by="ann", payload={"extend_by": 0})
    record(scope.state, given, scope.now(), "update")
    await stir(scope)
    assert not asked.done()
    assert scope.leaving is not None
    scope.in_flight = 0
    await stir(scope)
    with pytest.raises(RunLeft):
        await asked


async def test_a_run_that_a_budget_leads_to_a_team_is_left_when_its_calls_have_ended() -> None:
    leading = "{tool_calls: {limit: 2, on_exceeded: route, next_team: rest}}"
    text = PLAN.replace("{tool_calls: 2}", leading)
    scope = LocalScope(plan_of(text + REST), RunState(), Nowhere())
    await call(scope)
    await call(scope)
    scope.in_flight = 1
    led = asyncio.create_task(call(scope))
    await stir(scope)
    assert not led.done()
    scope.in_flight = 0
    await stir(scope)
    with pytest.raises(RunLeft) as left:
        await led
    assert left.value.team == "rest"


async def test_branch_stopped_while_leaving_lets_the_next_one_leave(scope: LocalScope) -> None:
    await call(scope)
    await call(scope)
    scope.in_flight = 1
    first = asyncio.create_task(call(scope))
    await stir(scope)
    left = scope.leaving
    next_one = asyncio.create_task(call(scope))
    await stir(scope)
    first.cancel()
    await stir(scope)
    assert first.cancelled()
    assert scope.leaving not in (None, left)
    scope.in_flight = 0
    await stir(scope)
    with pytest.raises(BudgetExceeded):
        await next_one
