"""Whoever sees tokens or money that are estimated, of all calls or of some, reads that they are."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from coterie.activities.contracts import Spent, TokenUsage
from coterie.dsl.evaluate.because import route_because
from coterie.dsl.model.budgets import Budget
from coterie.rendering.cost_tables import cost_text
from coterie.rendering.progress_lines import progress_lines, task_text
from coterie.rendering.run_summary import summary_text
from coterie.rendering.run_text import status_text
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.progress import Progress
from coterie.runs.run_view import RunNews
from coterie.ui.panes import tree_rows, usage_lines
from coterie.workflows.budgets.balances import exceeded, paid, so_far
from coterie.workflows.budgets.costs import uses
from coterie.workflows.core.location import Location
from coterie.workflows.core.results import result
from coterie.workflows.core.state_keys import MAIN
from coterie.workflows.core.state_parts import Tally
from coterie.workflows.core.views import CostReport, CostRow
from coterie.workflows.handlers.board import board
from coterie.workflows.handlers.board import status as status_of
from tests.support.simulation.stopping import StoppingScope, World, fresh
from tests.support.tool_agents import persona, tool_plan
from tests.support.watching.watched_runs import working
from tests.unit.coterie.runs.test_progress import EVENTS, drawn, followed, status, view_of

BUDGET = Budget(kind="tokens", limit=1_000)
PLAN = tool_plan({}, {"actor": persona()}, budgets=[BUDGET.model_dump()])
HERE = Location.of_visit(MAIN, "work", 1).at("act")


def spent(estimated: int) -> StoppingScope:
    """A run whose calls were paid from a budget."""
    scope = StoppingScope(PLAN, fresh(PLAN, {}), World(lambda _: {}), None)
    scope.state.model_calls = 2
    scope.state.tallies["a"] = Tally("work/act", calls=2, input_tokens=950, estimated=estimated)
    usage = TokenUsage(input_tokens=950)
    paid(scope, HERE, (), Spent(usage=usage, estimated=estimated))
    return scope


def live(estimated: int) -> str:
    view = view_of(160)
    view.progress(RunNews(status(estimated=estimated), []))
    view.close()
    return drawn(view, 160)


def summary(estimated: int) -> str:
    end = RunEnd("completed", result(spent(estimated), "completed", ""))
    return summary_text("r", end, followed(), 160)


def pane(estimated: int) -> str:
    return "\n".join(line.text for line in usage_lines(working(estimated=estimated), 160))


def of_budget(estimated: int) -> str:
    scope = spent(estimated)
    return status_text("r", status(budgets=uses(PLAN, scope.state)))


def warned(estimated: int) -> str:
    scope = spent(estimated)
    return route_because(so_far(BUDGET, scope.state.balances[BUDGET.id]))


def used_up(estimated: int) -> str:
    scope = spent(estimated)
    return route_because(exceeded(BUDGET, scope.state.balances[BUDGET.id]))


def _rows(estimated: int) -> Progress:
    rows = followed()
    task = CostRow(name="write/draft", calls=2, input_tokens=950, cost=0.5, estimated=estimated)
    rows.price(CostReport(total=task, tasks=(task,)))
    return rows


def costs(estimated: int) -> str:
    """The rows of `coterie cost`, without the line below that explains the mark."""
    row = CostRow(name="write/draft", calls=2, input_tokens=950, estimated=estimated)
    by = dict.fromkeys(("teams", "tasks", "personas", "models"), (row,))
    text = cost_text("r", CostReport(total=row, **by), over=True)
    rows = [line for line in text.splitlines() if "write/draft" in line]
    marked = ["estimated" in row for row in rows]
    assert len(rows) == 5
    assert len(set(marked)) == 1, "every row and the total"
    return "\n".join(rows)


def table(estimated: int) -> str:
    """The task table of the live view, where `~` is the mark."""
    lines = progress_lines(_rows(estimated), 160, 40)
    return "\n".join(line.text for line in lines).replace("~", "estimated ")


def tree(estimated: int) -> str:
    seen = working()
    seen.rows = _rows(estimated)
    lines = (row.line.text for row in tree_rows(seen, 160, datetime.now(UTC)))
    return "\n".join(lines).replace("~", "estimated ")


def log(estimated: int) -> str:
    visits = _rows(estimated).visits.values()
    return "\n".join(task_text(task) for visit in visits for task in visit.tasks.values())


VIEWS: dict[str, Callable[[int], str]] = {
    "status": lambda n: status_text("r", status_of(PLAN, spent(n).state, done=False)),
    "summary": summary,
    "live view": live,
    "pane": pane,
    "board": lambda n: board(PLAN, spent(n).state),
    "budget line": of_budget,
    "warning": warned,
    "end by a budget": used_up,
    "cost": costs,
    "task table": table,
    "tree": tree,
    "log": log,
}


@pytest.mark.parametrize("view", VIEWS)
def test_estimated_usage_is_named(view: str) -> None:
    assert "estimated" in VIEWS[view](1)
    assert "estimated" not in VIEWS[view](0)


def test_usage_says_for_how_many_calls_it_is_estimated() -> None:
    assert ", estimated for 1 call" in status_text("r", status(model_calls=3, estimated=1))
    assert status_text("r", status(model_calls=1, estimated=1)).count("estimated for") == 0


def test_the_mark_of_estimated_usage_belongs_to_the_visit_that_made_the_calls() -> None:
    rows = Progress()
    rows.follow(EVENTS[:6])
    rows.price(_report(estimated=0))
    rows.follow(EVENTS[6:])
    rows.price(_report(estimated=1))
    assert [visit.estimated for visit in rows.visits.values()] == [False, True]
    assert "estimated for 1 call" in cost_text("r", _report(estimated=1), over=True)


def _report(estimated: int) -> CostReport:
    row = CostRow(name="write/draft", calls=2, estimated=estimated)
    return CostReport(total=row, tasks=(row,))
