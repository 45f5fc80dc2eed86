"""Format the usage of a run as tables, and budgets as lines. A missing price never shows as 0."""

from collections.abc import Iterable, Iterator

from coterie.dsl.model.budgets import amount, column_money, kind_of, number
from coterie.text.columns import aligned
from coterie.text.durations import duration
from coterie.text.lines import text_of
from coterie.text.problems import counted
from coterie.workflows.core.views import BudgetUse, CostReport, CostRow

_HEAD = ("", "calls", "tokens in", "cached", "tokens out", "USD", "worked", "")


def cost_text(run: str, report: CostReport, *, over: bool) -> str:
    """Format the answer of the query `cost`."""
    total = report.total
    so_far = "" if over else " so far"
    lines = [f"{run}: {money_text(total.cost, unpriced=bool(total.unpriced))}{so_far}"]
    tables = {
        "team": report.teams,
        "task": report.tasks,
        "persona": report.personas,
        "model": report.models,
        "tool": report.tools,
    }
    table: list[tuple[str, ...]] = [_HEAD]
    for kind, rows in tables.items():
        if rows:
            table += [(f"by {kind}", *[""] * 7), *map(_cells, rows)]
            left_out = report.left_out.get(f"{kind}s")
            if left_out:
                table.append((f"  and {left_out} more", *[""] * 7))
    table.append(_cells(total))
    lines += (f"  {line}" for line in aligned(table, right=range(1, len(_HEAD) - 1)))
    if total.unpriced:
        without = counted(total.unpriced, "call")
        lines.append(f"  {without} without a price, not in the sum (see `prices`)")
    if total.unreported:
        lines.append(f"  {counted(total.unreported, 'turn')} of agents that do not report usage")
    if total.cut_off:
        cut_off = f"{counted(total.cut_off, 'call')} cut off"
        lines.append(f"  {cut_off}: input tokens estimated, output not counted")
    if total.estimated:
        lines.append(
            f"  {counted(total.estimated, 'call')} of providers that report no usage: estimated"
        )
    lines += budget_lines(report.budgets)
    return text_of(lines)


def money_text(cost: float | None, *, unpriced: bool) -> str:
    """Format money as far as it is known: `0.42 USD`, `0.42 USD and unpriced calls`, `unpriced`."""
    if cost is None:
        return "unpriced" if unpriced else "no calls with a price"
    return f"{amount('money', cost)}{' and unpriced calls' if unpriced else ''}"


def estimated_text(calls: int, model_calls: int) -> str:
    """Return what to add to tokens and money that are estimated, for all calls or some of them."""
    if not calls:
        return ""
    return ", estimated" if calls >= model_calls else f", estimated for {counted(calls, 'call')}"


def budget_lines(budgets: Iterable[BudgetUse]) -> Iterator[str]:
    """Yield a line for each budget: its usage, its limit, and what happens when it is exceeded."""
    for use in budgets:
        kind = kind_of(use.id)
        used = number(kind, use.used)
        more = f", extended by {amount(kind, use.extended)}" if use.extended else ""
        if use.reserved:
            more += f", {amount(kind, use.reserved)} reserved by calls in progress"
        yield (
            f"  budget   {use.id}: {used} of {amount(kind, use.limit)} ({use.used / use.limit:.0%}"
            f"{', estimated' if use.estimated else ''})"
            f"{_STATES[use.state]}{more}; then: {use.on_exceeded}"
        )


_STATES = {
    "open": "",
    "warned": ", nearly used up",
    "used_up": ", used up",
    "not_held": ", NOT HELD",
}


def _cells(row: CostRow) -> tuple[str, ...]:
    has_tokens = row.input_tokens or row.output_tokens
    money = "-"
    if row.cost is not None:
        money = f"{column_money(row.cost)}{' + unpriced' if row.unpriced else ''}"
    elif row.unpriced:
        money = "unpriced"
    elif row.unreported:
        money = "not reported"
    return (
        row.name if row.name == "total" else f"  {row.name}",
        f"{row.calls:,}",
        f"{row.input_tokens:,}" if has_tokens else "-",
        f"{row.cached_tokens:,}" if row.cached_tokens else "-",
        f"{row.output_tokens:,}" if has_tokens else "-",
        money,
        duration(row.seconds),
        _estimate_mark(row),
    )


def _estimate_mark(row: CostRow) -> str:
    """Return the mark of a row whose tokens and money are estimated, for all or some calls."""
    calls = row.estimated + row.cut_off
    if not calls:
        return ""
    return "estimated" if calls >= row.calls else f"estimated for {counted(calls, 'call')}"
