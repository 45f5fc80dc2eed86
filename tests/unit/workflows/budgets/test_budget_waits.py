"""Where a run waits because of a budget, and whether it may continue as new meanwhile."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
)
from coterie.dsl.model.budgets import Budget
from coterie.dsl.tool_loop.exchange import ToolResult, ToolTurn
from coterie.runs.in_process.local_scope import LocalScope
from coterie.workflows.budgets.call_admission import admit_call, admit_input
from coterie.workflows.budgets.call_estimates import CallEstimate
from coterie.workflows.budgets.reservations import reserving
from coterie.workflows.core.location import Location
from coterie.workflows.core.scope import Leaving
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_keys import MAIN
from coterie.workflows.core.state_parts import BudgetBalance
from tests.support.compiling import plan_of

PLAN = plan_of("orchestration: {entry_team: work, teams: {work: {tasks: [{name: note}]}}}")
HERE = Location.of_visit(MAIN, "work", 1).at("note")


class Nowhere:
    async def run_agent(self, request: AgentRequest) -> AgentResponse:
        raise AssertionError(request)

    async def call_function(self, request: FunctionRequest) -> FunctionResult:
        raise AssertionError(request)


class WatchedScope(LocalScope):
    """Notes of each wait whether the run may continue as new there."""

    def __init__(self, *budgets: Budget, used: float = 0.0) -> None:
        state = RunState(balances={one.id: BudgetBalance(used=used) for one in budgets})
        super().__init__(PLAN.model_copy(update={"budgets": budgets}), state, Nowhere())
        self.waits: list[tuple[str, bool]] = []

    async def wait_until(
        self,
        ready: Callable[[], bool],
        seconds: float | None,
        summary: str,
        *,
        boundary: bool = True,
        stands_still: bool = True,
    ) -> bool:
        self.waits.append((summary, boundary))
        return await super().wait_until(ready, seconds, summary, boundary=boundary)


@asynccontextmanager
async def started(*calls: asyncio.Task[object]) -> AsyncGenerator[None]:
    """Let these calls get as far as they can; none may end."""
    try:
        for _ in range(10):
            await asyncio.sleep(0)
        assert not any(call.done() for call in calls)
        yield
    finally:
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)


def _begin(call: object) -> asyncio.Task[object]:
    assert asyncio.iscoroutine(call)
    return asyncio.create_task(call)


@pytest.mark.parametrize("boundary", [True, False])
async def test_a_run_continues_as_new_while_a_budget_asks_if_the_call_allows_it(
    boundary: bool,
) -> None:
    scope = WatchedScope(Budget(kind="tool_calls", limit=1, on_exceeded="ask"), used=1)
    calls = [
        _begin(admit_call(scope, HERE.beside(step), (), "tool_calls", boundary=boundary))
        for step in ("first", "second")
    ]
    async with started(*calls):
        assert dict(scope.waits) == {
            "decision of work/budget/run.tool_calls#1": boundary,
            "decision about the tool call budget of the run": boundary,
        }


async def test_a_run_does_not_continue_as_new_while_a_budget_asks_about_the_input_of_a_turn() -> (
    None
):
    scope = WatchedScope(Budget(kind="tokens", limit=9, on_exceeded="ask"))
    turn = ToolTurn(results=(ToolResult(text="", size=40),))
    request = AgentRequest(team="work", task="note", tool_turn=turn)
    async with started(_begin(admit_input(scope, HERE, (), "p/m", request))):
        assert [allowed for _, allowed in scope.waits] == [False]


async def test_a_run_does_not_continue_as_new_while_it_is_left() -> None:
    scope = WatchedScope(Budget(kind="tool_calls", limit=1), used=1)
    scope.in_flight = 1
    leaving = _begin(admit_call(scope, HERE, (), "tool_calls"))
    async with started(leaving):
        assert scope.leaving is not None
        async with started(_begin(admit_call(scope, HERE, (), "tool_calls"))):
            because = "the tool call budget of the run is used up, 1 of 1 call"
            assert scope.waits == [(because, False), (because, False)]


async def test_a_call_that_is_held_waits_until_the_run_is_no_longer_left() -> None:
    scope = WatchedScope(Budget(kind="tool_calls", limit=1))
    scope.leaving = Leaving("elsewhere")
    async with started(_begin(admit_call(scope, HERE, (), "tool_calls"))):
        assert scope.waits == [("elsewhere", False)]
        assert scope.state.balances["run.tool_calls"].used == 0


def _turn(scope: WatchedScope, tokens: int) -> reserving:
    return reserving(scope, HERE, (), lambda: CallEstimate("p/m", tokens, 0))


async def test_turns_that_just_fit_into_a_budget_run_together_and_the_next_one_waits() -> None:
    scope = WatchedScope(Budget(kind="tokens", limit=200), used=20)
    balance = scope.state.balances["run.tokens"]
    async with _turn(scope, 80):
        async with _turn(scope, 100):
            assert (balance.reserved, balance.reservations, scope.waits) == (180, 2, [])
        assert (balance.reserved, balance.reservations) == (80, 1)
        async with started(_begin(_turn(scope, 101).__aenter__())):
            assert scope.waits == [("room in the token budget of the run", False)]
    assert (balance.reserved, balance.reservations) == (0, 0)


async def test_a_turn_in_progress_reserves_without_a_wait() -> None:
    scope = WatchedScope(Budget(kind="tokens", limit=100))
    balance = scope.state.balances["run.tokens"]
    begun = reserving(scope, HERE, (), lambda: CallEstimate("p/m", 90, 0), begun=True)
    async with _turn(scope, 90), begun:
        assert (balance.reserved, balance.reservations, scope.waits) == (180, 2, [])


@pytest.mark.parametrize(
    ("allowed", "reserved"), [(False, 5.0), (True, 0.0)], ids=["all of it", "nothing"]
)
async def test_a_turn_without_a_price_reserves_the_whole_budget_unless_a_person_allowed_it(
    allowed: bool, reserved: float
) -> None:
    scope = WatchedScope(Budget(kind="money", limit=5))
    balance = scope.state.balances["run.money"]
    balance.unpriced_allowed = allowed
    async with _turn(scope, 10):
        assert (balance.reserved, balance.reservations) == (reserved, 1)


async def test_a_turn_that_reports_no_usage_reserves_nothing() -> None:
    scope = WatchedScope(Budget(kind="tokens", limit=100))
    async with reserving(scope, HERE, (), lambda: None):
        assert scope.state.balances["run.tokens"] == BudgetBalance()


async def test_a_turn_of_the_team_that_a_budget_led_to_waits_for_no_room() -> None:
    budget = Budget(kind="tokens", limit=100, on_exceeded="route", next_team="work")
    scope = WatchedScope(budget, used=100)
    scope.state.balances["run.tokens"].visit = 1
    async with _turn(scope, 90), _turn(scope, 90):
        assert scope.waits == []
