"""Format the list of runs as a table, or as JSON."""

from collections.abc import Sequence
from datetime import UTC, datetime

from coterie.dsl.values import Json
from coterie.dsl.visible import one_line
from coterie.runs.run_list import RunRow
from coterie.text.columns import aligned
from coterie.text.durations import duration

_HEAD = ("run", "team", "state", "began", "took", "at")


def run_table(rows: Sequence[RunRow], now: datetime) -> str:
    """Format the runs, one per line, below a header."""
    return "\n".join(aligned([_HEAD, *(_cells(row, now) for row in rows)]))


def run_json(row: RunRow) -> Json:
    """Return one run for programs."""
    return {
        "run": row.id,
        "team": row.plan,
        "state": row.state,
        "began": iso_moment(row.began),
        "ended": None if row.ended is None else iso_moment(row.ended),
        "at": list(row.teams),
        "doing": list(row.doing),
        "waiting_for": list(row.waits_for),
    }


def _cells(row: RunRow, now: datetime) -> tuple[str, ...]:
    took = (row.ended or now) - row.began
    at = row.doing[-1] if row.doing else ", ".join(row.teams)
    for number, request in enumerate(row.waits_for):
        at = request if not number else f"{row.waits_for[0]} and {number} more"
    began = f"{duration((now - row.began).total_seconds())} ago"
    cells = (row.id, row.plan, row.state, began, duration(took.total_seconds()), at)
    return tuple(one_line(cell) for cell in cells)


def iso_moment(moment: datetime) -> str:
    """Return a moment for programs: ISO 8601, UTC."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")
