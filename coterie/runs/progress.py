"""Derive the progress of a run: its visits and their tasks, with nested steps folded in.

Pure: takes the trail and the cost report, returns rows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from coterie.dsl.tool_loop.call_names import calls_in
from coterie.text.problems import counted
from coterie.workflows.core.state_keys import StepKey
from coterie.workflows.core.views import CostReport, StepInProgress, TrailEntry

RowState = Literal["running", "success", "partial", "failure", "skipped"]
"""`partial`: it succeeded, but steps in it failed."""

Tone = Literal["working", "waiting", "good", "bad"]
"""How a view colours the state of a run."""

END_STATES: dict[str, RowState] = {
    "success": "success",
    "failure": "failure",
    "failed": "failure",
    "cut_off": "failure",
    "skipped": "skipped",
    "cancelled": "skipped",
}
"""The statuses with which a step ends; with others (`turn`, `retried`, ...) it continues."""


def _is_caught(entry: TrailEntry, path: str, step_path: str) -> bool:
    return entry.status == "caught" and step_path.startswith(f"{path}/")


@dataclass(slots=True)
class TaskRow:
    """One task of one visit."""

    name: str
    state: RowState = "running"
    seconds: float | None = None
    tokens: int = 0
    money: float | None = None
    estimated: bool = False
    """Whether tokens and money are estimated, of some of its calls or of all."""
    because: str = ""
    """Why it failed, or which steps in it did."""


@dataclass(slots=True)
class VisitRow:
    """One visit of a team."""

    team: str
    visit: int
    state: RowState = "running"
    tasks: dict[str, TaskRow] = field(default_factory=dict[str, TaskRow])
    next_team: str | None = None
    """The next team; None while the visit is in progress, and at the run's end."""
    because: str = ""
    """Why the run continued there."""

    @property
    def name(self) -> str:
        """The team, with the visit number from the second visit on."""
        return self.team if self.visit < 2 else f"{self.team} #{self.visit}"

    @property
    def seconds(self) -> float | None:
        """The sum of its tasks' times."""
        durations = [task.seconds for task in self.tasks.values() if task.seconds is not None]
        return sum(durations) if durations else None

    @property
    def tokens(self) -> int:
        """Tokens of all its tasks."""
        return sum(task.tokens for task in self.tasks.values())

    @property
    def money(self) -> float | None:
        """Cost of all its tasks that have a price."""
        amounts = [task.money for task in self.tasks.values() if task.money is not None]
        return sum(amounts) if amounts else None

    @property
    def estimated(self) -> bool:
        """Whether tokens and money of a task are estimated."""
        return any(task.estimated for task in self.tasks.values())


@dataclass(frozen=True, slots=True)
class RepeatedStep:
    """A step that failed and that its own `retry` repeats."""

    step: str
    """Its team and path."""
    attempt: int
    """The current or next attempt."""
    because: str
    """Why the previous attempt failed."""

    def describe(self) -> str:
        """Describe which attempt it is, and why."""
        return f"{self.step}: attempt {self.attempt}, because {self.because}"


class Progress:
    """Follows a run, entry by entry."""

    def __init__(self) -> None:
        self.visits: dict[tuple[str, int], VisitRow] = {}
        self._failed: dict[tuple[str, int], dict[str, str]] = {}
        """`{visit: {path of a step within a task that failed: why}}`."""
        self._repeated: dict[str, RepeatedStep] = {}
        self._assigned: dict[str, float] = {}
        """`{team/task: money already assigned to rows}`."""
        self._estimated: dict[str, int] = {}
        """`{team/task: estimated calls that a row is marked for}`."""

    def follow(self, news: Iterable[TrailEntry], doing: Sequence[StepInProgress] = ()) -> None:
        """Take new trail entries, and the steps in progress."""
        for entry in news:
            self._note_attempt(entry)
            match entry.kind:
                case "team":
                    self._visit(entry.team, entry.visit)
                case "step" if entry.step and "/" in entry.step and entry.visit:
                    self._note_within(entry, entry.step)
                case "step" if entry.step and entry.visit:
                    if entry.status in END_STATES:
                        self._note_end(entry, END_STATES[entry.status])
                case "route" if entry.visit:
                    self._close_visit(entry)
                case _:
                    pass
        for current in doing:
            step = StepKey(current.step)
            task = step.task
            open_visits = [row for row in self.visits.values() if row.team == step.team]
            if task and open_visits and open_visits[-1].state == "running":
                open_visits[-1].tasks.setdefault(task, TaskRow(task))

    def repeated(self, doing: Sequence[StepInProgress]) -> list[RepeatedStep]:
        """Return the steps in progress that were retried, in their order."""
        repeats = (self._repeated.get(current.step) for current in doing)
        return [repeat for repeat in repeats if repeat is not None]

    def price(self, report: CostReport) -> None:
        """Assign new costs, and whether they are estimated, to the latest visit of each task."""
        costs: dict[StepKey, float] = {}
        estimates: dict[StepKey, int] = {}
        for row in report.tasks:
            step = StepKey(row.name)
            key = StepKey.of(step.team, step.task)
            if row.cost is not None:
                costs[key] = costs.get(key, 0.0) + row.cost
            estimates[key] = estimates.get(key, 0) + row.estimated + row.cut_off
        for key, calls in estimates.items():
            rows = self._rows_of(key)
            if rows and calls > self._estimated.get(key, 0):
                rows[-1].estimated, self._estimated[key] = True, calls
        for key, money in costs.items():
            rows = self._rows_of(key)
            if not rows:
                continue
            more = money - self._assigned.get(key, 0.0)
            if not more and rows[-1].state == "running":
                continue  # no visit is known yet
            rows[-1].money = round((rows[-1].money or 0.0) + more, 9)
            self._assigned[key] = money

    def _rows_of(self, key: StepKey) -> list[TaskRow]:
        """Return the rows of a task, the latest visit last."""
        return [
            row.tasks[key.task]
            for row in self.visits.values()
            if row.team == key.team and key.task in row.tasks
        ]

    def _note_attempt(self, entry: TrailEntry) -> None:
        if entry.kind != "step" or entry.step is None:
            return
        step = f"{entry.team}/{entry.step}"
        if entry.status == "retried":
            earlier = self._repeated.get(step)
            attempt = 2 if earlier is None else earlier.attempt + 1
            self._repeated[step] = RepeatedStep(step, attempt, entry.because)
        elif entry.status in END_STATES:
            self._repeated.pop(step, None)

    def _visit(self, team: str, visit: int) -> VisitRow:
        return self.visits.setdefault((team, visit), VisitRow(team, visit))

    def _note_end(self, entry: TrailEntry, state: RowState) -> None:
        tasks = self._visit(entry.team, entry.visit).tasks
        row = tasks.setdefault(entry.step or "", TaskRow(entry.step or ""))
        row.seconds, row.tokens = entry.seconds, entry.tokens or 0
        row.state = state
        row.because = entry.because if row.state == "failure" else ""
        failures = self._failed.get((entry.team, entry.visit), {})
        within = [path for path in failures if path.startswith(f"{entry.step}/")]
        if within and state == "success":
            row.state = "partial"
            row.because = f"{counted(len(within), 'step')} in it failed: {failures[within[0]]}"
        for path in within:
            del failures[path]

    def _note_within(self, entry: TrailEntry, path: str) -> None:
        """Keep which steps within a task failed, unless the failure is caught or a model has it."""
        failures = self._failed.setdefault((entry.team, entry.visit), {})
        if END_STATES.get(entry.status or "") == "failure" and not calls_in(path):
            failures[path] = f"{path}: {entry.because}"
        elif entry.status in ("success", "caught"):
            for failed_path in [
                failed_path
                for failed_path in failures
                if failed_path == path or _is_caught(entry, path, failed_path)
            ]:
                del failures[failed_path]

    def _close_visit(self, entry: TrailEntry) -> None:
        row = self._visit(entry.team, entry.visit)
        has_failed = entry.status not in (None, "success")
        row.state = "failure" if has_failed else "success"
        row.next_team, row.because = entry.next_team, entry.because
        for task in row.tasks.values():
            if task.state == "running":
                task.state = "skipped"
