"""What a run has used of its budgets, how fast, and when they will be used up. Pure."""

from dataclasses import dataclass

from coterie.dsl.model.budgets import amount, kind_of
from coterie.rendering.cost_tables import money_text
from coterie.text.durations import duration
from coterie.text.problems import counted
from coterie.workflows.core.views import BudgetUse, CostReport, CostRow


@dataclass(frozen=True, slots=True)
class UsageMeter:
    """One budget, or one bound, and how much of it is used."""

    name: str
    used: str
    bound: str
    """Empty: nothing bounds it."""
    share: float | None
    """Used of the bound; None without one."""
    state: str = ""
    note: str = ""

    @property
    def units(self) -> float:
        """The filled part of a bar of 100 units."""
        return 0.0 if self.share is None else round(min(max(self.share, 0.0), 1.0) * 100, 1)

    @property
    def tone(self) -> str:
        """How the bar is coloured."""
        if self.share is None or self.share < 0.8:
            return "good"
        return "waiting" if self.share < 1 else "bad"


@dataclass(frozen=True, slots=True)
class SpendingRow:
    """One row of a table of costs."""

    name: str
    calls: str
    tokens_in: str
    tokens_out: str
    money: str
    worked: str


@dataclass(frozen=True, slots=True)
class SpendingTable:
    """The costs by one thing: team, task, persona, model or tool."""

    by: str
    rows: tuple[SpendingRow, ...]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Spending:
    """What a run has used."""

    total: SpendingRow
    tables: tuple[SpendingTable, ...]
    budgets: tuple[UsageMeter, ...]
    notes: tuple[str, ...]


def spending_of(report: CostReport, seconds: float, *, is_open: bool) -> Spending:
    """Return the costs of a run, and its budgets with burn and forecast.

    Args:
        report: What it has used.
        seconds: How long it has been open, or was.
        is_open: Whether it may use more.
    """
    parts = {
        "team": report.teams,
        "task": report.tasks,
        "persona": report.personas,
        "model": report.models,
        "tool": report.tools,
    }
    tables = tuple(
        SpendingTable(by, tuple(map(_row, rows)), report.left_out.get(f"{by}s", 0))
        for by, rows in parts.items()
        if rows
    )
    meters = tuple(_meter(use, seconds, is_open=is_open) for use in report.budgets)
    return Spending(_row(report.total), tables, meters, tuple(_notes(report.total)))


def _row(row: CostRow) -> SpendingRow:
    return SpendingRow(
        row.name,
        f"{row.calls:,}",
        f"{row.input_tokens:,}" if row.input_tokens or row.output_tokens else "",
        f"{row.output_tokens:,}" if row.input_tokens or row.output_tokens else "",
        money_text(row.cost, unpriced=bool(row.unpriced))
        if row.cost is not None or row.unpriced
        else "",
        duration(row.seconds),
    )


def _notes(total: CostRow) -> list[str]:
    notes = {
        f"{counted(total.unpriced, 'call')} without a price, not in the sum": total.unpriced,
        f"{counted(total.unreported, 'turn')} of agents that do not report usage": total.unreported,
        f"{counted(total.cut_off, 'call')} cut off: input tokens estimated, output not counted": (
            total.cut_off
        ),
        f"{counted(total.estimated, 'call')} of providers that report no usage: estimated": (
            total.estimated
        ),
    }
    return [note for note, count in notes.items() if count]


def _meter(use: BudgetUse, seconds: float, *, is_open: bool) -> UsageMeter:
    kind = kind_of(use.id)
    notes = [f"extended by {amount(kind, use.extended)}"] if use.extended else []
    if use.reserved:
        notes.append(f"{amount(kind, use.reserved)} reserved by calls in progress")
    if seconds >= 1 and use.used:
        notes.append(f"{amount(kind, use.used / seconds * 3600)} per hour")
        if is_open and use.used < use.limit:
            left = (use.limit - use.used) / (use.used / seconds)
            notes.append(f"at this rate used up in {duration(left)}")
    notes.append(f"then: {use.on_exceeded}")
    state = {"warned": "nearly used up", "used_up": "used up", "not_held": "not held"}
    return UsageMeter(
        use.id,
        f"{amount(kind, use.used)}{' (estimated)' if use.estimated else ''}",
        amount(kind, use.limit),
        use.used / use.limit,
        state.get(use.state, ""),
        "; ".join(notes),
    )
