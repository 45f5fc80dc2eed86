"""What is left of a budget: what calls take from it, when it warns, and when it is used up."""

import pytest

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
    Spent,
)
from coterie.activities.contracts import TokenUsage as Usage
from coterie.dsl.model.budgets import Budget, BudgetKind
from coterie.dsl.model.causes import BudgetReached
from coterie.runs.in_process.local_scope import LocalScope
from coterie.workflows.budgets.balances import add, exceeded, is_used_up, limit_of, notices, paid
from coterie.workflows.core.location import Location
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_keys import MAIN
from coterie.workflows.core.state_parts import BudgetBalance
from tests.support.compiling import plan_of

PLAN = plan_of("orchestration: {entry_team: work, teams: {work: {tasks: [{name: note}]}}}")
HERE = Location.of_visit(MAIN, "work", 1).at("note")
CALLED = HERE.key.called_team()


class Nowhere:
    async def run_agent(self, request: AgentRequest) -> AgentResponse:
        raise AssertionError(request)

    async def call_function(self, request: FunctionRequest) -> FunctionResult:
        raise AssertionError(request)


def _scope(*budgets: Budget) -> LocalScope:
    return LocalScope(PLAN.model_copy(update={"budgets": budgets}), RunState(), Nowhere())


def _noted(scope: LocalScope) -> list[tuple[str | None, object]]:
    return [(entry.status, entry.cause) for entry in scope.state.trail]


def _warned(used: float, limit: float = 10) -> BudgetReached:
    return BudgetReached("budget_warned", "money", "run", used, limit)


def test_a_budget_warns_once_when_its_share_is_reached() -> None:
    budget = Budget(kind="money", limit=10, warn_at=0.5)
    scope = _scope(budget)
    add(scope, HERE, budget, 4.99)
    assert scope.state.balances["run.money"] == BudgetBalance(used=4.99)
    assert _noted(scope) == []
    add(scope, HERE, budget, 0.01)
    assert scope.state.balances["run.money"] == BudgetBalance(used=5.0, warned=True)
    add(scope, HERE, budget, 3)
    assert scope.state.balances["run.money"] == BudgetBalance(used=8.0, warned=True)
    assert _noted(scope) == [("warned", _warned(5.0))]


def test_amounts_and_extensions_add_up_without_the_errors_of_binary_fractions() -> None:
    budget = Budget(kind="money", limit=0.1)
    scope = _scope(budget)
    for _ in range(8):
        add(scope, HERE, budget, 0.1)
    add(scope, HERE, budget, 0.000_000_001_4)
    assert scope.state.balances["run.money"].used == 0.800_000_001
    assert limit_of(budget, BudgetBalance(extended=0.2)) == 0.3
    assert limit_of(budget, BudgetBalance(extended=0.000_000_001_4)) == 0.100_000_001
    assert limit_of(budget, None) == 0.1


@pytest.mark.parametrize(
    ("balance", "location", "used_up"),
    [
        (BudgetBalance(used=9.9), HERE, False),
        (BudgetBalance(used=10), HERE, True),
        (BudgetBalance(used=10, extended=1), HERE, False),
        (BudgetBalance(unpriced="p/m"), HERE, True),
        (BudgetBalance(unpriced="p/m", unpriced_allowed=True), HERE, False),
        (BudgetBalance(used=10, unpriced="p/m", unpriced_allowed=True), HERE, True),
        (BudgetBalance(used=10, visit=1), HERE, True),
        (BudgetBalance(used=10, visit=1), Location.of_visit(MAIN, "rest", 1), False),
        (BudgetBalance(used=10, visit=1), Location.of_visit(MAIN, "rest", 2), True),
        (BudgetBalance(used=10, visit=1), Location.of_visit(CALLED, "deep", 1), True),
        (
            BudgetBalance(used=10, visit=1),
            Location.of_visit(
                Location.of_visit(MAIN, "rest", 1).at("ask").key.called_team(), "deep", 1
            ),
            False,
        ),
    ],
    ids=[
        "left",
        "used up",
        "extended",
        "no price",
        "allowed without price",
        "allowed, used up",
        "another team",
        "the team that follows",
        "its next visit",
        "called by another team",
        "called by the team that follows",
    ],
)
def test_a_budget_is_used_up_for_all_but_the_visit_that_it_led_to(
    balance: BudgetBalance, location: Location, used_up: bool
) -> None:
    budget = Budget(kind="money", limit=10, on_exceeded="route", next_team="rest")
    assert is_used_up(budget, balance, location) is used_up


KINDS: tuple[BudgetKind, ...] = ("tokens", "money", "working_time", "model_calls", "tool_calls")


@pytest.mark.parametrize(
    ("what", "used", "unpriced"),
    [
        (
            AgentResponse(usage=Usage(300, 20, 100), cost=0.5, seconds=2.5),
            {"tokens": 320, "money": 0.5, "working_time": 2.5},
            "",
        ),
        (
            Spent(usage=Usage(1, 2), cost=0.5, unpriced=True),
            {"tokens": 3, "money": 0.5},
            "p/m",
        ),
        (Spent(usage=Usage(1, 2)), {"tokens": 3, "money": 0}, "p/m"),
        (Spent(usage=Usage(1, 2), cost=0.0), {"tokens": 3}, ""),
        (AgentResponse(seconds=1), {"working_time": 1}, ""),
        (FunctionResult(seconds=4), {"working_time": 4}, ""),
    ],
    ids=[
        "all",
        "in part without a price",
        "without a price",
        "free",
        "no usage",
        "a tool function",
    ],
)
def test_a_call_pays_tokens_money_and_time_when_it_ends(
    what: AgentResponse | FunctionResult | Spent, used: dict[str, float], unpriced: str
) -> None:
    scope = _scope(*(Budget(kind=kind, limit=1_000) for kind in KINDS))
    paid(scope, HERE, (), what, "p/m")
    balances = scope.state.balances
    assert {id.partition(".")[2]: balance.used for id, balance in balances.items()} == used
    assert {id: one.unpriced for id, one in balances.items() if one.unpriced} == (
        {"run.money": unpriced} if unpriced else {}
    )
    not_held = BudgetReached("budget_not_held", "money", "run", model="p/m")
    assert _noted(scope) == ([("unpriced", not_held)] if unpriced else [])


def test_the_first_model_without_a_price_is_named_once() -> None:
    scope = _scope(Budget(kind="money", limit=1))
    paid(scope, HERE, (), Spent(usage=Usage(1, 2)))
    paid(scope, HERE, (), Spent(usage=Usage(1, 2)), "p/m")
    assert scope.state.balances["run.money"].unpriced == "a model"
    assert [status for status, _ in _noted(scope)] == ["unpriced"]


def test_only_the_budgets_that_cover_a_call_pay_for_it() -> None:
    budgets = [
        Budget(kind="tokens", limit=9, scope="team", name="work"),
        Budget(kind="tokens", limit=9, scope="team", name="other"),
        Budget(kind="tokens", limit=9, scope="persona", name="writer"),
    ]
    scope = _scope(*budgets)
    paid(scope, HERE, (), Spent(usage=Usage(1, 2), cost=0.0))
    assert list(scope.state.balances) == ["team.work.tokens"]


def test_an_agent_sees_the_budgets_that_are_nearly_used_up() -> None:
    warned, other = Budget(kind="money", limit=10), Budget(kind="tokens", limit=9)
    state = RunState(balances={"run.money": BudgetBalance(used=8, warned=True)})
    assert list(notices(state, [warned, other])) == [
        "[Note: 80% of the money budget of the run is used, 8.00 of 10.00 USD. "
        "Come to an end with what is left.]"
    ]


@pytest.mark.parametrize(
    ("balance", "cause"),
    [
        (BudgetBalance(used=12, extended=1), ("budget_used_up", 12, 11, "")),
        (BudgetBalance(used=12, unpriced="p/m"), ("budget_not_held", 0, 0, "p/m")),
        (
            BudgetBalance(used=12, unpriced="p/m", unpriced_allowed=True),
            ("budget_used_up", 12, 10, ""),
        ),
    ],
    ids=["used up", "no price", "allowed without price"],
)
def test_a_used_up_budget_says_by_how_much_or_that_nobody_knows(
    balance: BudgetBalance, cause: tuple[str, float, float, str]
) -> None:
    found = exceeded(Budget(kind="money", limit=10), balance)
    assert (found.code, found.used, found.limit, found.model) == cause
    assert (found.kind, found.owner) == ("money", "run")
