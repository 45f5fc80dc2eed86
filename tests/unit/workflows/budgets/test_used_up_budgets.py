"""What happens when a budget is used up: the run asks, goes to another team, or stops."""

import asyncio
from dataclasses import replace

import pytest

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
)
from coterie.dsl.errors import BudgetExceeded
from coterie.dsl.model.budgets import Budget
from coterie.dsl.model.causes import BudgetReached
from coterie.dsl.model.decision_terms import AskTerms
from coterie.dsl.values import JsonValue
from coterie.runs.in_process.local_scope import LocalScope
from coterie.workflows.approvals.decisions import record
from coterie.workflows.budgets.call_admission import decide
from coterie.workflows.core.location import Location, Redirected, RunLeft
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_keys import MAIN
from coterie.workflows.core.state_parts import BudgetBalance
from tests.support.compiling import plan_of

PLAN = plan_of("orchestration: {entry_team: work, teams: {work: {tasks: [{name: note}]}}}")
HERE = Location.of_visit(MAIN, "work", 1).at("note")
CAUSE = BudgetReached("budget_used_up", "tool_calls", "run", 10, 10)


class Nowhere:
    async def run_agent(self, request: AgentRequest) -> AgentResponse:
        raise AssertionError(request)

    async def call_function(self, request: FunctionRequest) -> FunctionResult:
        raise AssertionError(request)


def _scope(balance: BudgetBalance, **state: object) -> LocalScope:
    scope = LocalScope(PLAN, RunState(balances={"run.tool_calls": balance}), Nowhere())
    for name, value in state.items():
        setattr(scope.state, name, value)
    return scope


def _noted(scope: LocalScope) -> list[tuple[str | None, object, str | None]]:
    trail = scope.state.trail
    return [(one.status, one.cause, one.next_team) for one in trail if one.kind == "budget"]


async def test_a_budget_that_stops_the_run_says_which_one_and_what_it_allowed() -> None:
    budget, balance = Budget(kind="tool_calls", limit=9), BudgetBalance(used=10, extended=1)
    with pytest.raises(BudgetExceeded, match="10 of 10 calls") as stopped:
        await decide(_scope(balance), HERE, budget, balance, boundary=True)
    assert (stopped.value.limit, stopped.value.allowed) == ("budget_tool_calls", 10)


LEADING = Budget(kind="tool_calls", limit=10, on_exceeded="route", next_team="rest")


@pytest.mark.parametrize("scope_of", ["run", "team", "persona"])
async def test_a_budget_leads_the_run_or_its_team_to_the_next_visit_of_another(
    scope_of: str,
) -> None:
    budget = LEADING.model_copy(update={"scope": scope_of, "name": "work"})
    balance = BudgetBalance(used=10)
    scope = _scope(balance, visits={"rest": 2})
    owner = "run" if scope_of == "run" else f"{scope_of}.work"
    cause = replace(CAUSE, owner=owner)
    for _ in range(2):  # branches that are led there later find the same visit
        with pytest.raises(Redirected if scope_of == "team" else RunLeft) as left:
            await decide(scope, HERE, budget, balance, boundary=True)
        assert (left.value.team, left.value.cause) == ("rest", cause)
    assert balance == BudgetBalance(used=10, visit=3)
    assert _noted(scope) == [("routed", cause, "rest")]


@pytest.mark.parametrize(
    ("visit", "visits", "stopped", "leads"),
    [
        (None, {}, None, True),
        (None, {"rest": 1}, None, True),
        (1, {}, None, True),
        (1, {"rest": 1}, None, False),
        (1, {"rest": 2}, None, False),
        (2, {"rest": 1}, None, True),
        (None, {}, 5.0, False),
    ],
    ids=["first", "later visit", "not begun", "begun", "over", "next not begun", "cancelled"],
)
async def test_a_budget_leads_to_another_team_until_that_visit_begins(
    visit: int | None, visits: dict[str, int], stopped: float | None, leads: bool
) -> None:
    balance = BudgetBalance(used=10, visit=visit)
    scope = _scope(balance, visits=visits, stop_by=stopped)
    with pytest.raises(RunLeft if leads else BudgetExceeded):
        await decide(scope, HERE, LEADING, balance, boundary=True)
    if leads:
        assert balance.visit == (visit or visits.get("rest", 0) + 1)


ASKING = Budget(kind="tool_calls", limit=10, on_exceeded="ask")


async def _asked(
    scope: LocalScope, balance: BudgetBalance, budget: Budget = ASKING, extend_by: float = 0
) -> None:
    """Let ann approve this extension, or reject it if it is negative."""
    asking = asyncio.create_task(decide(scope, HERE, budget, balance, boundary=True))
    for _ in range(10):
        await asyncio.sleep(0)
    (request,) = scope.state.pending
    payload: JsonValue = {"extend_by": extend_by}
    given = (
        DecideInput(id=request, decision="reject", by="ann")
        if extend_by < 0
        else DecideInput(id=request, decision="approve", by="ann", payload=payload)
    )
    record(scope.state, given, scope.now(), "update")
    scope.signal("decided")
    await asking


@pytest.mark.parametrize(("more", "warned"), [(2, True), (2.5, True), (3, False), (0.25, True)])
async def test_a_person_extends_a_budget_and_it_warns_again(more: float, warned: bool) -> None:
    balance = BudgetBalance(used=10, warned=True, extended=0)
    scope = _scope(balance)
    await _asked(scope, balance, extend_by=more)
    assert balance == BudgetBalance(used=10, extended=more, warned=warned)
    cause = BudgetReached("budget_extended", "tool_calls", "run", extended=more, by="ann")
    assert _noted(scope) == [("extended", cause, None)]


async def test_a_person_who_extends_a_budget_allows_models_without_a_price() -> None:
    balance = BudgetBalance(used=10, unpriced="p/m")
    await _asked(_scope(balance), balance, extend_by=1)
    assert (balance.unpriced_allowed, balance.asking) == (True, None)


async def test_a_person_who_extends_by_nothing_lets_the_run_end_with_what_there_is() -> None:
    balance = BudgetBalance(used=10)
    with pytest.raises(RunLeft) as left:
        await _asked(_scope(balance), balance)
    ended = replace(CAUSE, code="budget_ended", by="ann")
    assert (left.value.team, left.value.cause) == (None, ended)


async def test_a_cancelled_run_stops_where_another_would_end_with_what_there_is() -> None:
    balance = BudgetBalance(used=10)
    with pytest.raises(BudgetExceeded):
        await _asked(_scope(balance, stop_by=5.0), balance)


async def test_a_person_who_rejects_the_extension_stops_the_run() -> None:
    balance = BudgetBalance(used=10)
    with pytest.raises(BudgetExceeded, match="ann"):
        await _asked(_scope(balance), balance, extend_by=-1)
    assert balance.asking is None


@pytest.mark.parametrize("on_timeout", ["reject", "fail"])
async def test_a_budget_that_nobody_decides_about_in_time_stops_the_run(on_timeout: str) -> None:
    balance = BudgetBalance(used=10)
    budget = ASKING.model_copy(update={"terms": AskTerms(deadline=0.001, on_timeout=on_timeout)})
    with pytest.raises(BudgetExceeded, match="nobody"):
        await decide(_scope(balance), HERE, budget, balance, boundary=True)
