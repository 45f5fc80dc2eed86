"""Format the statistics of runs as tables, or as JSON. A rate is shown with its counts."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, assert_never

from coterie.dsl.errors import listed
from coterie.dsl.values import Json
from coterie.dsl.visible import one_line
from coterie.runs.stats_report import (
    DecisionStats,
    StatsReport,
    StrategyStats,
    TeamStats,
    ToolStats,
)
from coterie.text.columns import aligned
from coterie.text.durations import duration
from coterie.text.lines import text_of
from coterie.text.problems import counted

StatsPart = Literal["teams", "strategies", "decisions", "tools"]
_Row = TeamStats | StrategyStats | DecisionStats | ToolStats

_HEADS: Mapping[StatsPart, tuple[str, ...]] = {
    "teams": ("team", "ended", "completed", "rate", "each", "open"),
    "strategies": ("strategy", "ended", "succeeded", "rate", "each", "won", "cancelled"),
    "decisions": (
        "decided by",
        "turns",
        "succeeded",
        "rate",
        "each",
        "called",
        "answered",
        "corrected",
        "tokens",
    ),
    "tools": ("tool", "calls", "succeeded", "rate", "each", "failed", "retries"),
}


def stats_text(report: StatsReport, part: StatsPart | None) -> str:
    """Format what was counted, and in how many runs.

    Args:
        report: What was counted.
        part: Only this table; None for all.
    """
    lines = [*_scope(report)]
    for name, head in _HEADS.items():
        if part in (None, name):
            lines += ["", *_table(head, [_cells(row) for row in _rows_of(report, name)])]
    return text_of(lines)


def stats_json(report: StatsReport) -> str:
    """Format what was counted as JSON, each row with its rate and its mean time."""
    data: Json = report.model_dump(mode="json")
    for name in _HEADS:
        data[name] = [_row_data(row) for row in _rows_of(report, name)]
    return json.dumps(data, indent=2, ensure_ascii=False)


def _row_data(row: _Row) -> Json:
    seconds = None if row.mean_seconds is None else round(row.mean_seconds, 3)
    rate = None if row.success_rate is None else round(row.success_rate, 4)
    more: Json = {"failed": row.failed, "success_rate": rate, "mean_seconds": seconds}
    return {**row.model_dump(mode="json"), **more, "seconds": round(row.seconds, 3)}


def _scope(report: StatsReport) -> Iterator[str]:
    more = "; older ones were not read" if report.more else ", all that match"
    yield f"{counted(report.runs, 'run')} read, newest first{more}"
    if report.unfollowed:
        yield (
            f"{counted(report.unfollowed, 'run')} of another version: only calls of models and "
            "tools are counted"
        )
    if report.unreadable:
        yield f"not readable: {one_line(listed(report.unreadable))}"


def _rows_of(report: StatsReport, part: StatsPart) -> Sequence[_Row]:
    tables: Mapping[StatsPart, Sequence[_Row]] = {
        "teams": report.teams,
        "strategies": report.strategies,
        "decisions": report.decisions,
        "tools": report.tools,
    }
    return tables[part]


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    if not rows:
        yield f"{head[0]}: none"
        return
    yield from aligned([head, *rows], right=range(1, len(head)))


def _cells(row: _Row) -> tuple[str, ...]:
    name, more = _own_cells(row)
    rate = "-" if row.success_rate is None else f"{row.success_rate:.0%}"
    each = "-" if row.mean_seconds is None else duration(row.mean_seconds)
    return (one_line(name), f"{row.count:,}", f"{row.succeeded:,}", rate, each, *more)


def _own_cells(row: _Row) -> tuple[str, tuple[str, ...]]:
    """Return the name of a row, and what only rows of its table have."""
    match row:
        case TeamStats():
            return row.team, (f"{row.open:,}",)
        case StrategyStats():
            name = f"{row.team}/{row.step}: {row.branch}"
            return name, (f"{row.won:,}", f"{row.cancelled:,}")
        case DecisionStats():
            numbers = (row.called, row.answered, row.corrected, row.tokens)
            return f"{row.team}/{row.step}", tuple(f"{number:,}" for number in numbers)
        case ToolStats():
            return row.tool, (f"{row.failed:,}", f"{row.retries:,}")
        case _:
            assert_never(row)
