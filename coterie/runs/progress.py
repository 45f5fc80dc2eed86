"""The progress of a run as rows: its team visits and their tasks, with nested steps folded in.

Pure: the trail and the run's own account of its cost go in, rows come out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from workflows.core.views import Activity, CostReport, TrailEntry

RowState = Literal["running", "success", "failure", "skipped"]


@dataclass(slots=True)
class TaskRow:
    """One task of one visit."""

    name: str
    state: RowState = "running"
    seconds: float | None = None
    tokens: int = 0
    money: float | None = None
    because: str = ""
    """Why it failed."""


@dataclass(slots=True)
class VisitRow:
    """One visit of a team."""

    team: str
    visit: int
    state: RowState = "running"
    tasks: dict[str, TaskRow] = field(default_factory=dict[str, TaskRow])
    next_team: str | None = None
    """Where the run went from there; None while it is there, and at its end."""
    because: str = ""
    """Why the run went there."""

    @property
    def name(self) -> str:
        """The team, with the number of its visit from the second on."""
        return self.team if self.visit < 2 else f"{self.team} #{self.visit}"

    @property
    def seconds(self) -> float | None:
        """The time of its tasks, added up."""
        known = [task.seconds for task in self.tasks.values() if task.seconds is not None]
        return sum(known) if known else None

    @property
    def tokens(self) -> int:
        """Of all its tasks."""
        return sum(task.tokens for task in self.tasks.values())

    @property
    def money(self) -> float | None:
        """Of all its tasks that have a price."""
        known = [task.money for task in self.tasks.values() if task.money is not None]
        return sum(known) if known else None


class Progress:
    """Follows a run, entry by entry."""

    def __init__(self) -> None:
        self.visits: dict[tuple[str, int], VisitRow] = {}
        self._told: dict[str, float] = {}
        """`{team/task: money that rows have already}`."""

    def follow(self, news: Iterable[TrailEntry], doing: Sequence[Activity] = ()) -> None:
        """Take what happened, and what is in progress now."""
        for entry in news:
            match entry.kind:
                case "team":
                    self._visit(entry.team, entry.visit)
                case "step" if entry.step and "/" not in entry.step and entry.visit:
                    self._ended(entry)
                case "route" if entry.visit:
                    self._left(entry)
                case _:
                    pass
        for one in doing:
            team, _, path = one.step.partition("/")
            task = path.partition("/")[0]
            open_visits = [row for row in self.visits.values() if row.team == team]
            if task and open_visits and open_visits[-1].state == "running":
                open_visits[-1].tasks.setdefault(task, TaskRow(task))

    def price(self, report: CostReport) -> None:
        """Give what was spent since the last time to the latest visit of its task."""
        spent: dict[str, float] = {}
        for row in report.tasks:
            team, _, path = row.name.partition("/")
            if row.cost is not None:
                key = f"{team}/{path.partition('/')[0]}"
                spent[key] = spent.get(key, 0.0) + row.cost
        for key, money in spent.items():
            team, _, task = key.partition("/")
            found = [
                row.tasks[task]
                for row in self.visits.values()
                if row.team == team and task in row.tasks
            ]
            if not found:
                continue
            more = money - self._told.get(key, 0.0)
            if not more and found[-1].state == "running":
                continue  # nothing of it is known yet
            found[-1].money = round((found[-1].money or 0.0) + more, 6)
            self._told[key] = money

    def _visit(self, team: str, visit: int) -> VisitRow:
        return self.visits.setdefault((team, visit), VisitRow(team, visit))

    def _ended(self, entry: TrailEntry) -> None:
        tasks = self._visit(entry.team, entry.visit).tasks
        row = tasks.setdefault(entry.step or "", TaskRow(entry.step or ""))
        row.seconds, row.tokens = entry.seconds, entry.tokens or 0
        row.state = _state(entry.status)
        row.because = entry.because if row.state == "failure" else ""

    def _left(self, entry: TrailEntry) -> None:
        row = self._visit(entry.team, entry.visit)
        failed = entry.status not in (None, "success")
        row.state = "failure" if failed else "success"
        row.next_team, row.because = entry.next_team, entry.because
        for task in row.tasks.values():
            if task.state == "running":
                task.state = "skipped"


def _state(status: str | None) -> RowState:
    match status:
        case "failure" | "skipped" | "success" as state:
            return state
        case _:
            return "success"
