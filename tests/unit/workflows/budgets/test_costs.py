"""The answer to what a run has used: rows without number are shown by weight, and counted."""

from typing import Literal

import pytest

from coterie.dsl.model.budgets import Budget
from coterie.rendering.cost_tables import cost_text
from coterie.workflows.budgets.costs import report, uses
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_parts import BudgetBalance, Tally
from coterie.workflows.core.views import BudgetUse, CostReport, CostRow
from tests.support.compiling import plan_of

PLAN = plan_of("orchestration: {entry_team: a, teams: {a: {tasks: [{name: s}]}}}")


def _state(*tallies: Tally) -> RunState:
    return RunState(tallies={str(number): tally for number, tally in enumerate(tallies)})


def test_what_calls_used_adds_up_by_team_task_persona_model_and_tool() -> None:
    first = Tally("a/s", "writer", "p/m", "", 2, 300, 100, 50, 0.1234567, 1, 2, 3, 9, 1.234)
    again = Tally("a/t", "writer", "p/m", "", 3, 30, 10, 5, 0.2, 10, 20, 30, 9, 1.003)
    search = Tally("b/u", "critic", "", "search", calls=4, seconds=0.555)
    command = Tally("b/u", calls=5)
    amounts = (330, 110, 55, 0.3234567, 11, 22, 33)
    assert report(None, _state(first, again, search, command)) == CostReport(
        total=_row("total", 14, *amounts, 2.79),
        teams=(
            _row("a", 5, *amounts, 2.24),
            _row("b", 9, seconds=0.56),
        ),
        tasks=(
            _row("a/s", 2, 300, 100, 50, 0.1234567, 1, 2, 3, 1.23),
            _row("a/t", 3, 30, 10, 5, 0.2, 10, 20, 30, 1.0),
            _row("b/u", 9, seconds=0.56),
        ),
        personas=(_row("writer", 5, *amounts, 2.24), _row("critic", 4, seconds=0.56)),
        models=(_row("p/m", 5, *amounts, 2.24), _row("legacy agents", 5)),
        tools=(_row("search", 4, seconds=0.56),),
    )


def _row(
    name: str,
    calls: int,
    sent: int = 0,
    answered: int = 0,
    cached: int = 0,
    cost: float | None = None,
    unpriced: int = 0,
    unreported: int = 0,
    cut_off: int = 0,
    seconds: float = 0.0,
) -> CostRow:
    return CostRow(
        name=name,
        calls=calls,
        input_tokens=sent,
        output_tokens=answered,
        cached_tokens=cached,
        cost=cost,
        unpriced=unpriced,
        unreported=unreported,
        cut_off=cut_off,
        seconds=seconds,
    )


@pytest.mark.parametrize(
    ("name", "shown"), [("n" * 80, "n" * 80), ("n" * 81, "n" * 79 + "…")], ids=["80", "81"]
)
def test_a_long_name_is_cut_to_eighty_characters(name: str, shown: str) -> None:
    tools = report(None, _state(Tally("a/s", tool=name, calls=1))).tools
    assert [row.name for row in tools] == [shown]


@pytest.mark.parametrize(
    ("balance", "state"),
    [
        (BudgetBalance(used=7.9), "open"),
        (BudgetBalance(used=8, warned=True), "warned"),
        (BudgetBalance(used=10, warned=True), "used_up"),
        (BudgetBalance(used=10, warned=True, extended=1), "warned"),
        (BudgetBalance(used=10, unpriced="p/m"), "not_held"),
        (BudgetBalance(used=10, unpriced="p/m", unpriced_allowed=True), "used_up"),
        (BudgetBalance(used=1, unpriced="p/m", unpriced_allowed=True), "open"),
    ],
    ids=["open", "warned", "used up", "extended", "no price", "allowed, used up", "allowed"],
)
def test_a_budget_says_how_it_stands(
    balance: BudgetBalance, state: Literal["open", "warned", "used_up", "not_held"]
) -> None:
    budget = Budget(kind="money", limit=10, on_exceeded="ask")
    plan = PLAN.model_copy(update={"budgets": (budget,)})
    (use,) = uses(plan, RunState(balances={budget.id: balance}))
    assert use == BudgetUse(
        id="run.money",
        used=balance.used,
        limit=10 + balance.extended,
        on_exceeded="ask",
        state=state,
        extended=balance.extended,
    )


def test_a_budget_without_calls_is_unused_and_amounts_are_rounded_to_six_digits() -> None:
    money, tokens = Budget(kind="money", limit=1), Budget(kind="tokens", limit=9)
    plan = PLAN.model_copy(update={"budgets": (money, tokens)})
    state = RunState(balances={money.id: BudgetBalance(used=0.12345678, reserved=0.00000149)})
    assert uses(plan, state) == (
        BudgetUse(id="run.money", used=0.123457, limit=1, on_exceeded="stop", reserved=0.000001),
        BudgetUse(id="run.tokens", used=0, limit=9, on_exceeded="stop"),
    )
    assert uses(None, state) == ()


@pytest.mark.parametrize(("number", "left_out"), [(20, {}), (22, {"budgets": 2})])
def test_the_fullest_twenty_budgets_are_shown_and_the_others_counted(
    number: int, left_out: dict[str, int]
) -> None:
    # the larger limit outweighs the larger use
    budgets = [
        Budget(kind="tokens", limit=100 if n else 1_000_000, scope="team", name=f"t{n}")
        for n in range(number)
    ]
    ids = [budget.id for budget in budgets]
    plan = PLAN.model_copy(update={"budgets": tuple(budgets)})
    state = RunState(balances={id: BudgetBalance(used=n or 99) for n, id in enumerate(ids)})
    shown = report(plan, state)
    assert [use.id for use in shown.budgets] == ids[-20:]
    assert shown.left_out == left_out


@pytest.mark.parametrize(("number", "left_out"), [(50, {}), (51, {"tasks": 1}), (52, {"tasks": 2})])
def test_the_tasks_that_used_most_are_shown_in_the_order_in_which_they_began(
    number: int, left_out: dict[str, int]
) -> None:
    tallies = [Tally(f"a/t{n}", "writer", "m", input_tokens=n, calls=1) for n in range(number)]
    shown = report(None, _state(*tallies))
    assert [row.name for row in shown.tasks] == [f"a/t{n}" for n in range(number)][-50:]
    assert shown.left_out == left_out
    assert (shown.total.calls, shown.teams[0].name) == (number, "a")


@pytest.mark.parametrize(
    ("light", "heavy"),
    [
        (Tally("", tool="light", input_tokens=9_000, calls=9), Tally("", tool="heavy", cost=0.01)),
        (
            Tally("", tool="light", output_tokens=4, calls=9),
            Tally("", tool="heavy", input_tokens=5),
        ),
        (
            Tally("", tool="light", input_tokens=4, calls=9),
            Tally("", tool="heavy", output_tokens=5),
        ),
        (Tally("", tool="light", calls=1), Tally("", tool="heavy", calls=2)),
    ],
    ids=["cost", "input", "output", "calls"],
)
def test_cost_weighs_more_than_tokens_and_tokens_more_than_calls(
    light: Tally, heavy: Tally
) -> None:
    heaviest = [Tally("", tool=f"tool{n}", cost=1.0) for n in range(19)]
    shown = report(None, _state(light, heavy, *heaviest))
    assert [row.name for row in shown.tools] == ["heavy", *(tally.tool for tally in heaviest)]
    assert shown.left_out == {"tools": 1}


def test_names_that_are_equal_when_cut_take_no_more_rows() -> None:
    tallies = [Tally("", tool="n" * 90 + str(n), calls=1) for n in range(21)]
    shown = report(None, _state(*tallies))
    assert (len(shown.tools), shown.left_out) == (20, {"tools": 1})


def test_calls_whose_usage_is_estimated_are_counted_and_named() -> None:
    first = Tally("a/s", calls=2, input_tokens=9, cost=0.00002, estimated=1)
    found = report(None, _state(first, Tally("a/t", calls=1, estimated=2)))
    assert (found.total.estimated, found.tasks[0].estimated) == (3, 1)
    text = cost_text("r-1", found, over=True)
    assert "  3 calls of providers that report no usage: estimated" in text
    assert "0.000020" in text
