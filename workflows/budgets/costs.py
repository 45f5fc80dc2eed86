"""What a run has used: by team, task, persona, model and tool. Pure functions over RunState."""

from collections.abc import Callable, Iterable

from coterie.dsl.model.budgets import Budget
from coterie.dsl.model.plan import Plan
from coterie.workflows.budgets.balances import limit_of
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_keys import StepKey
from coterie.workflows.core.state_parts import BudgetBalance, Tally
from coterie.workflows.core.usage import DIGITS
from coterie.workflows.core.views import BudgetUse, CostReport, CostRow

_MAX_ROWS = {"tasks": 50}
_MAX_OTHER_ROWS = 20
"""Rows in one answer: the plain `temporal` command line shows no large ones."""
_MAX_NAME_LENGTH = 80


def report(plan: Plan | None, state: RunState) -> CostReport:
    """Answer the query `cost`."""
    tallies = list(state.tallies.values())
    tables = {
        "teams": _rows(tallies, lambda tally: StepKey(tally.task).team),
        "tasks": _rows(tallies, lambda tally: tally.task),
        "personas": _rows(tallies, lambda tally: tally.persona),
        "models": _rows(tallies, _model),
        "tools": _rows(tallies, lambda tally: tally.tool),
    }
    shown_rows = {
        name: _costliest(rows, _MAX_ROWS.get(name, _MAX_OTHER_ROWS))
        for name, rows in tables.items()
    }
    budgets = uses(plan, state)
    left_out = {name: len(rows) - len(shown_rows[name]) for name, rows in tables.items()}
    left_out["budgets"] = len(budgets) - len(_fullest(budgets))
    return CostReport(
        total=_row("total", tallies),
        **shown_rows,
        budgets=_fullest(budgets),
        left_out={name: number for name, number in left_out.items() if number},
    )


def uses(plan: Plan | None, state: RunState) -> tuple[BudgetUse, ...]:
    """Return how much of each budget is used."""
    if plan is None:
        return ()
    return tuple(
        _use(budget, state.balances.get(budget.id) or BudgetBalance()) for budget in plan.budgets
    )


def _use(budget: Budget, balance: BudgetBalance) -> BudgetUse:
    limit = limit_of(budget, balance)
    unheld = balance.unpriced and not balance.unpriced_allowed
    return BudgetUse(
        id=budget.id,
        used=round(balance.used, 6),
        estimated=balance.estimated,
        limit=limit,
        on_exceeded=budget.on_exceeded,
        state="not_held"
        if unheld
        else "used_up"
        if balance.used >= limit
        else "warned"
        if balance.warned
        else "open",
        extended=balance.extended,
        reserved=round(balance.reserved, 6),
    )


def _model(tally: Tally) -> str:
    return tally.model or ("" if tally.tool else "legacy agents")


def _rows(tallies: Iterable[Tally], name: Callable[[Tally], str]) -> list[CostRow]:
    groups: dict[str, list[Tally]] = {}
    for tally in tallies:
        key = name(tally)
        if key:
            groups.setdefault(key, []).append(tally)
    return [_row(key, group) for key, group in groups.items()]


def _row(name: str, tallies: list[Tally]) -> CostRow:
    costs = [tally.cost for tally in tallies if tally.cost is not None]
    return CostRow(
        name=name if len(name) <= _MAX_NAME_LENGTH else f"{name[: _MAX_NAME_LENGTH - 1]}…",
        calls=sum(tally.calls for tally in tallies),
        input_tokens=sum(tally.input_tokens for tally in tallies),
        output_tokens=sum(tally.output_tokens for tally in tallies),
        cached_tokens=sum(tally.cached_tokens for tally in tallies),
        cost=round(sum(costs), DIGITS) if costs else None,
        unpriced=sum(tally.unpriced for tally in tallies),
        unreported=sum(tally.unreported for tally in tallies),
        cut_off=sum(tally.cut_off for tally in tallies),
        estimated=sum(tally.estimated for tally in tallies),
        seconds=round(sum(tally.seconds for tally in tallies), 2),
    )


def _weight(row: CostRow) -> tuple[float, int, int]:
    return (row.cost or 0.0, row.input_tokens + row.output_tokens, row.calls)


def _costliest(rows: list[CostRow], maximum: int) -> tuple[CostRow, ...]:
    """Return the costliest rows, in the order in which they began."""
    names = {row.name for row in sorted(rows, key=_weight, reverse=True)[:maximum]}
    return tuple(row for row in rows if row.name in names)[:maximum]


def _fullest(budgets: tuple[BudgetUse, ...]) -> tuple[BudgetUse, ...]:
    fullest = sorted(budgets, key=lambda use: use.used / use.limit, reverse=True)[:_MAX_OTHER_ROWS]
    ids = {use.id for use in fullest}
    return tuple(use for use in budgets if use.id in ids)
