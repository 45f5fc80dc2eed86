"""Show the tree of a run: its visits, their tasks, the tasks of task graphs, the steps in progress.

Pure: takes what was observed, returns rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from coterie.dsl.task_graph.graph_tasks import GraphTaskStatus
from coterie.dsl.visible import one_line
from coterie.rendering.progress_lines import ProgressLine, row_line
from coterie.runs.progress import RowState, VisitRow
from coterie.runs.run_view import GraphTaskRow, RunView, seconds_since
from coterie.text.durations import duration
from coterie.text.round_counts import rounds_text, steps_shown
from coterie.text.task_counts import TASK_MARKS
from coterie.workflows.core.state_keys import StepKey
from coterie.workflows.core.views import StepInProgress

_STYLES: Mapping[GraphTaskStatus, str] = {
    "completed": "green",
    "in_progress": "cyan",
    "pending": "dim",
    "failed": "red",
    "blocked": "yellow",
    "skipped": "dim",
}
_MAX_GRAPH_TASKS = 60


@dataclass(frozen=True, slots=True)
class ScreenRow:
    """One row of the tree."""

    line: ProgressLine
    step: str = ""
    """`team/path` of the step that the row shows, by which a person skips it; empty if none."""


def tree_rows(seen: RunView, width: int, now: datetime) -> list[ScreenRow]:
    """Return all rows, in the order of the run.

    Args:
        seen: What is known of the run.
        width: Of the pane, in cells.
        now: The current time.
    """
    visits = list(seen.rows.visits.values())
    latest = {visit.team: visit for visit in visits}
    rows: list[ScreenRow] = []
    for visit in visits:
        rows.append(ScreenRow(row_line(visit, 0, width)))
        for task in visit.tasks.values():
            key = StepKey.of(visit.team, task.name)
            rows.append(ScreenRow(row_line(task, 1, width), _skippable(visit, key, seen)))
            if latest[visit.team] is visit:
                rows += _below(seen, key, task.state, width, now)
    return rows


def _skippable(visit: VisitRow, key: StepKey, seen: RunView) -> str:
    return str(key) if visit.state == "running" and seen.end is None else ""


def _below(
    seen: RunView, key: StepKey, state: RowState, width: int, now: datetime
) -> Iterator[ScreenRow]:
    """Yield the tasks of the task graph that a task is, and the steps within it."""
    status = seen.status if state == "running" and seen.end is None else None
    loops = () if status is None else status.loops
    shown = steps_shown(seen.doing if status is not None else (), loops)
    inside = [one for one in shown.steps if key.holds(one.step)]
    for loop in loops:
        if key.holds(loop.step) or key == loop.step:
            yield ScreenRow(ProgressLine(f"    {rounds_text(loop)}", "dim"))
    graph = seen.graphs.get(key, {})
    numbered = {task.number for task in graph.values() if task.number is not None}
    for id, task in list(graph.items())[:_MAX_GRAPH_TASKS]:
        number = task.number
        if number is None:
            number = _number_in_progress(task, key, inside, numbered)
        step = StepKey(f"{key}/{number}") if number is not None else StepKey("")
        yield ScreenRow(_graph_line(id, task, width), step if seen.end is None else "")
        if step:
            yield from _steps(step, [one for one in inside if step.holds(one.step)], 3, now)
            inside = [one for one in inside if not step.holds(one.step) and one.step != step]
    if len(graph) > _MAX_GRAPH_TASKS:
        more = f"    and {len(graph) - _MAX_GRAPH_TASKS} more tasks"
        yield ScreenRow(ProgressLine(more, "dim"))
    yield from _steps(key, inside, 2, now)


def _number_in_progress(
    task: GraphTaskRow, key: StepKey, inside: Sequence[StepInProgress], numbered: set[str]
) -> str | None:
    """Return the number of the task in progress whose start nobody has read yet, if it is clear."""
    if task.status != "in_progress":
        return None
    found = {StepKey(one.step[len(key) + 1 :]).partition("/")[0] for one in inside} - numbered
    return found.pop() if len(found) == 1 else None


def _graph_line(id: str, task: GraphTaskRow, width: int) -> ProgressLine:
    state = task.status.replace("_", " ").upper()
    name = f"    {TASK_MARKS[task.status]} {one_line(id)}"
    why = f"  {one_line(task.because)}" if width >= len(name) + 40 else ""
    return ProgressLine(f"{name}  [{state}]{why}", _STYLES[task.status])


def _steps(
    above: StepKey, inside: Sequence[StepInProgress], depth: int, now: datetime
) -> Iterator[ScreenRow]:
    """Yield the steps in progress within a step, each below those that contain it."""
    for one in inside:
        key = StepKey(one.step)
        around = [other.step for other in inside if StepKey(other.step).holds(one.step)]
        nearest = StepKey(max(around, key=len, default=above))
        name = one_line(key[len(nearest) + 1 :])
        since = duration(seconds_since(one.since, now))
        indent = "  " * (depth + len(around))
        yield ScreenRow(ProgressLine(f"{indent}• {name}  {since}", "cyan"), str(key))
