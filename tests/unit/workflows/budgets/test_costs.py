"""The answer to what a run has used: rows without number are shown by weight, and counted."""

import pytest

from dsl.model.budgets import Budget
from tests.support.compiling import plan_of
from workflows.budgets.costs import report
from workflows.core.memory import BudgetBalance, Tally
from workflows.core.state import RunState

PLAN = plan_of("orchestration: {entry_team: a, teams: {a: {tasks: [{name: s}]}}}")


@pytest.mark.parametrize(("number", "left_out"), [(20, {}), (22, {"budgets": 2})])
def test_the_fullest_twenty_budgets_are_shown_and_the_others_counted(
    number: int, left_out: dict[str, int]
) -> None:
    budgets = [Budget(kind="tokens", limit=100, scope="team", name=f"t{n}") for n in range(number)]
    ids = [budget.id for budget in budgets]
    plan = PLAN.model_copy(update={"budgets": tuple(budgets)})
    state = RunState(balances={id: BudgetBalance(used=n) for n, id in enumerate(ids)})
    shown = report(plan, state)
    assert [use.id for use in shown.budgets] == ids[-20:]
    assert shown.left_out == left_out


@pytest.mark.parametrize(("number", "left_out"), [(50, {}), (51, {"tasks": 1})])
def test_the_tasks_that_used_most_are_shown_in_the_order_in_which_they_began(
    number: int, left_out: dict[str, int]
) -> None:
    tallies = [Tally(f"a/t{n}", "writer", "m", input_tokens=n, calls=1) for n in range(number)]
    shown = report(None, RunState(tallies={one.task: one for one in tallies}))
    assert [row.name for row in shown.tasks] == [f"a/t{n}" for n in range(number)][-50:]
    assert shown.left_out == left_out
    assert (shown.total.calls, shown.teams[0].name) == (number, "a")
