"""What `coterie check` found, as text: inputs, the worst case as a table, and what it rests on."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence

from coterie.documents.price_lists import Priced
from coterie.text.lines import text_of
from coterie.text.problems import counted
from dsl.analysis.dataflow import Input
from dsl.analysis.loads import LEGACY, Unbounded
from dsl.analysis.worst_case import Figures, WorstCase, bounded
from dsl.model.budgets import Budget

_HEAD = ("", "visits", "model calls", "skill calls", "approvals", "output tokens", "USD")
_INDENT = "  "


def inputs_text(inputs: Sequence[Input], needs: Collection[str] = ()) -> str:
    """The fields of the context that the document expects, and which no start may lack."""
    if not inputs:
        return "inputs: none; no team reads anything of the context that no team sets"
    rows = [
        (
            one.path,
            _how_needed(one, needs),
            f"{one.mark.file}:{one.mark.line}",
            f"read first by {one.place}",
        )
        for one in inputs
    ]
    return text_of(["inputs, given with --context or --set", *_table(rows)])


def _how_needed(one: Input, needs: Collection[str]) -> str:
    """`to start`: no run can do without it."""
    if one.path in needs:
        return "to start"
    return "needed" if one.needed else "optional"


def worst_text(worst: WorstCase, limit: int) -> str:
    """The table of the worst case.

    Args:
        worst: the figures.
        limit: the run's `max_total_teams`.
    """
    rows = [_HEAD, *(_row(team, figures) for team, figures in worst.teams.items())]
    rows.append(_row("the whole run", worst.total))
    lines = [f"worst case under the limits, at most {counted(limit, 'team visit')}"]
    lines += _table(rows, numbers=True)
    if sum(figures.visits for figures in worst.teams.values()) > worst.total.visits:
        lines.append(f"{_INDENT}(each team on its own; together they stay within the last line)")
    return text_of(lines)


def basis_text(worst: WorstCase, priced: Priced, budgets: Sequence[Budget] = ()) -> str:
    """What the figures rest on, and what they leave out."""
    lines = [*_basis(worst, priced)]
    if budgets:
        told = "; ".join(f"{one.told}, {one.amount(one.limit)}" for one in budgets)
        lines.append(f"left out: budgets, which end or turn a run earlier: {told}")
    return text_of(f"{_INDENT}{line}" for line in lines)


def _basis(worst: WorstCase, priced: Priced) -> Iterator[str]:
    for model, calls in worst.models.items():
        price = priced.prices.get(model)
        told = f"{model}: at most {_count(calls)} calls"
        if price is None:
            what = "its class may ask any model" if model == LEGACY else "no price is known"
            yield f"{told}, UNPRICED: {what}, and the cost leaves it out"
        else:
            yield (
                f"{told}, {price.input:,.2f} USD in and {price.output:,.2f} USD out for a million "
                f"tokens ({priced.sources[model]})"
            )
    if worst.models:
        yield (
            f"assumed: {worst.terms.input_tokens:,} input tokens a call, which no document says "
            "(--input-tokens-per-call)"
        )
        yield (
            "counted: every re-ask and every retry of a step, each answer as long as its "
            "max_tokens; not what a provider refuses"
        )
    for loop in worst.unbounded:
        yield (
            f"unbounded: the loop {loop.step!r} goes over {loop.length_of}, and no document says "
            f"how long that is ({loop.mark.file}:{loop.mark.line}); `max_iterations` bounds it"
        )


def exceeded(worst: WorstCase, max_cost: float | None, max_model_calls: int | None) -> list[str]:
    """A sentence for each bound that the worst case does not keep."""
    total, told = worst.total, list[str]()
    if max_model_calls is not None and total.model_calls > max_model_calls:
        told.append(
            f"a run may make {_count(total.model_calls)} model calls, more than "
            f"--max-model-calls {max_model_calls:,}{_why(total.model_calls, worst.unbounded)}"
        )
    if max_cost is not None and total.unpriced:
        told.append(
            f"the cost has no bound: {', '.join(total.unpriced)} is unpriced; name its price in "
            "a file with --prices"
        )
    elif max_cost is not None and total.cost > max_cost + 1e-9:
        told.append(
            f"a run may cost {_cost(total.cost)} USD, more than --max-cost {max_cost:,.2f}"
            f"{_why(total.cost, worst.unbounded)}"
        )
    return told


def _why(value: float, loops: Iterable[Unbounded]) -> str:
    if bounded(value):
        return ""
    return ": nothing bounds " + ", ".join(repr(loop.step) for loop in loops)


def _row(name: str, figures: Figures) -> tuple[str, ...]:
    return (
        name,
        _count(figures.visits),
        _count(figures.model_calls),
        _count(figures.skill_calls),
        _count(figures.approvals),
        _count(figures.output_tokens),
        _money(figures),
    )


def _count(value: float) -> str:
    return f"{int(value):,}" if bounded(value) else "unbounded"


def _money(figures: Figures) -> str:
    if not figures.unpriced:
        return _cost(figures.cost)
    return "unpriced" if not figures.cost else f"{_cost(figures.cost)} + unpriced"


def _cost(value: float) -> str:
    """Rounded up to cents: a bound stays one."""
    return f"{math.ceil(value * 100 - 1e-6) / 100:,.2f}" if bounded(value) else "unbounded"


def _table(rows: Sequence[Sequence[str]], *, numbers: bool = False) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        _INDENT
        + "  ".join(
            cell.rjust(width) if numbers and column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
