"""Show what a run thinks, does, uses and asks: the lines of each pane of the screen.

Pure: takes what was observed, returns lines.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from coterie.display.following.live_text_lines import last_lines
from coterie.dsl.visible import one_line
from coterie.rendering.cost_tables import budget_lines
from coterie.rendering.progress_lines import TONES, ProgressLine, row_line, wrapped
from coterie.rendering.request_text import panel_lines
from coterie.rendering.run_text import paused_text, work_text
from coterie.runs.ends.end_words import incomplete_reason
from coterie.runs.progress import RowState, VisitRow
from coterie.runs.run_view import RunView, StepRow, seconds_since
from coterie.runs.task_trees import TaskNode, TaskTree
from coterie.text.durations import duration
from coterie.text.problems import counted
from coterie.text.round_counts import rounds_text, steps_shown
from coterie.text.task_signs import TASK_SIGNS, progress_of_tasks
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.state_keys import StepKey
from coterie.workflows.core.views import BudgetUse, StepInProgress

_BAR = 20
"""Cells of a bar."""
_MAX_RETRY_LINES = 3
_MAX_ARGUMENT_LINES = 3
_MAX_ARGUMENTS_LENGTH = 1000
"""Characters; the request has all of them."""


def head_lines(seen: RunView, width: int, now: datetime) -> list[ProgressLine]:
    """Return the goal, the state of the run, and how far it is."""
    lines = [ProgressLine(f"Goal: {one_line(seen.goal)}", "bold")] if seen.goal else []
    status = seen.status
    if status is None:
        return [*lines, ProgressLine(f"{one_line(seen.run)}  starting")]
    elapsed = duration(seen.seconds(now))
    state, tone = seen.state
    visits = f"visit {status.visits_toward_limit} of {status.max_total_teams}"
    lines.append(ProgressLine(f"{one_line(seen.run)}  {state}  {elapsed}  {visits}", TONES[tone]))
    if seen.end is not None and not seen.end.completed:
        lines += [
            ProgressLine(line, "red")
            for line in wrapped(incomplete_reason(seen.end), width, "  ")[:3]
        ]
    elif seen.paused is not None:
        pause_lines = wrapped(paused_text(seen.paused), width, "  ")
        lines += [ProgressLine(line, "yellow") for line in pause_lines[:2]]
    for graph in seen.graphs.values():
        counts = graph.counts
        share = counts.get("completed", 0) / max(sum(counts.values()), 1)
        progress = progress_of_tasks(graph.step, counts)
        lines.append(ProgressLine(f"{_bar(share)} {share:.0%}  {progress}"))
    return lines


def thought_lines(seen: RunView, width: int) -> list[ProgressLine]:
    """Return the answers that models write; without one, the last words and the last turn."""
    if seen.answers:
        return [ProgressLine(line) for line in last_lines(seen.answers, width)]
    lines: list[ProgressLine] = []
    turn = seen.last_turn
    if turn is not None:
        step = one_line(f"{turn.team}/{turn.step}")
        lines += [ProgressLine(line) for line in wrapped(f"{step}: {turn.because}", width, "")[:4]]
    for answer in seen.last_words[-1:]:
        tail_lines = wrapped(answer.tail.text, width, "  | ")[-4:]
        lines += [ProgressLine(f"{one_line(answer.step)} wrote:", "dim")]
        lines += [ProgressLine(line, "dim") for line in tail_lines]
    return lines or [ProgressLine("No model has written yet.", "dim")]


def action_lines(seen: RunView, width: int, now: datetime) -> list[ProgressLine]:
    """Return the calls and steps in progress, and the calls that are being retried."""
    if seen.end is not None:
        return [ProgressLine("Nothing: the run has ended.", "dim")]
    lines: list[ProgressLine] = []
    for step in seen.steps:
        text, style = _action(step, now)
        lines += [ProgressLine(line, style) for line in wrapped(text, width, "", "  ")]
        lines += _arguments(step, width)
    for attempt in seen.attempts(now):
        retry_lines = wrapped(attempt, width, "↻ ", "  ")[:_MAX_RETRY_LINES]
        lines += [ProgressLine(line, "yellow") for line in retry_lines]
    return lines or [ProgressLine("Nothing is in progress.", "dim")]


def usage_lines(seen: RunView, width: int) -> list[ProgressLine]:
    """Return calls, tokens and money, and each budget with a bar."""
    status = seen.status
    if status is None:
        return []
    lines = [ProgressLine(line) for line in wrapped(work_text(status), width, "", "  ")]
    for use in status.budgets:
        lines += _budget(use, width)
    return lines


def request_lines(seen: RunView, width: int, workspace: Path | None) -> list[ProgressLine]:
    """Return the request that the person looks at, with its subject, its terms and its place."""
    request = seen.request
    if request is None:
        return []
    number = seen.pending.index(request) + 1
    lines = [
        ProgressLine(f"{number} of {len(seen.pending)}: {one_line(request.id)}", "bold yellow"),
        *panel_lines(seen.run, request, width, workspace),
    ]
    for note in _notes(request):
        lines += [ProgressLine(line, "dim") for line in wrapped(note, width, "", "  ")]
    return lines


def _action(step: StepRow, now: datetime) -> tuple[str, str]:
    """Return the action, with its style."""
    name, since = one_line(step.key), duration(step.seconds(now))
    if step.asks:
        return f"? {name} waits for a decision, {since}", "yellow"
    if step.key.is_model_call:
        tool = step.key.without_model_calls().rpartition("/")[2]
        return f"• calls {one_line(tool)}  {since}  ({name})", "cyan"
    turn = "" if step.turn is None else f"  turn {step.turn}"
    return f"• {name}{turn}  {since}", "cyan"


def _arguments(step: StepRow, width: int) -> Iterator[ProgressLine]:
    if step.arguments is not None:
        arguments = step.arguments
        text = (
            arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        )
        lines = wrapped(one_line(text[:_MAX_ARGUMENTS_LENGTH]), width, "  ")
        yield from (ProgressLine(line, "dim") for line in lines[:_MAX_ARGUMENT_LINES])


def _budget(use: BudgetUse, width: int) -> Iterator[ProgressLine]:
    style = "" if use.state == "open" else "yellow"
    for line in budget_lines([use]):
        yield from (ProgressLine(part, style) for part in wrapped(line.strip(), width, "", "  "))
    yield ProgressLine(f"  {_bar(use.used / use.limit)}", style)


def _bar(share: float) -> str:
    """Draw a share of a whole; more than the whole fills it."""
    full = round(min(max(share, 0.0), 1.0) * _BAR)
    return f"{'█' * full}{'░' * (_BAR - full)}"


def _notes(request: Pending) -> Iterator[str]:
    """Yield what a person should know of a request before deciding it."""
    if request.quorum > 1 and request.approved_by:
        yield f"approved so far: {', '.join(request.approved_by)}"
    if request.changes:
        yield f"changed: {'; '.join(request.changes)}"
    if request.met:
        labels = ", ".join(dict.fromkeys(condition.label for condition in request.met))
        yield f"it sends data out, and the run has met: {labels}"
    if request.remembered_as is not None:
        yield "an approval also answers equal requests of this run"
    if request.cut:
        yield "shortened; the dialog of a decision shows it whole"


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


def _skippable(visit: VisitRow, key: StepKey, view: RunView) -> str:
    return str(key) if visit.state == "running" and view.end is None else ""


def _below(
    view: RunView, key: StepKey, state: RowState, width: int, now: datetime
) -> Iterator[ScreenRow]:
    """Yield the tasks of the task graph that a task is, and the steps within it."""
    status = view.status if state == "running" and view.end is None else None
    loops = () if status is None else status.loops
    selection = steps_shown(view.doing if status is not None else (), loops)
    inside = [current for current in selection.steps if key.holds(current.step)]
    for loop in loops:
        if key.holds(loop.step) or key == loop.step:
            yield ScreenRow(ProgressLine(f"    {rounds_text(loop)}", "dim"))
    graph = view.graphs.get(key, TaskTree(key))
    tasks = list(graph.nodes.values())
    numbers = {task.number for task in tasks if task.number is not None}
    for task in tasks[:_MAX_GRAPH_TASKS]:
        number = task.number
        if number is None:
            number = _number_in_progress(task, key, inside, numbers)
        step = StepKey(f"{key}/{number}") if number is not None else StepKey("")
        yield ScreenRow(_graph_line(task, width), step if view.end is None else "")
        if step:
            yield from _steps(
                step, [current for current in inside if step.holds(current.step)], 3, now
            )
            inside = [
                current
                for current in inside
                if not step.holds(current.step) and current.step != step
            ]
    more = max(len(tasks) - _MAX_GRAPH_TASKS, 0) + graph.left_out.total()
    if more:
        yield ScreenRow(ProgressLine(f"    and {counted(more, 'more task')}", "dim"))
    yield from _steps(key, inside, 2, now)


def _number_in_progress(
    task: TaskNode, key: StepKey, inside: Sequence[StepInProgress], known_numbers: set[str]
) -> str | None:
    """Return the number of the task in progress whose start nobody has read yet, if it is clear."""
    if task.status != "in_progress":
        return None
    numbers = {
        StepKey(current.step[len(key) + 1 :]).partition("/")[0] for current in inside
    } - known_numbers
    return numbers.pop() if len(numbers) == 1 else None


def _graph_line(task: TaskNode, width: int) -> ProgressLine:
    state, sign = task.status.replace("_", " ").upper(), TASK_SIGNS[task.status]
    name = f"    {sign.text} {one_line(task.id)}"
    why = f"  {one_line(task.because)}" if width >= len(name) + 40 else ""
    return ProgressLine(f"{name}  [{state}]{why}", sign.color)


def _steps(
    above: StepKey, inside: Sequence[StepInProgress], depth: int, now: datetime
) -> Iterator[ScreenRow]:
    """Yield the steps in progress within a step, each below those that contain it."""
    for current in inside:
        key = StepKey(current.step)
        around = [other.step for other in inside if StepKey(other.step).holds(current.step)]
        nearest = StepKey(max(around, key=len, default=above))
        name = one_line(key[len(nearest) + 1 :])
        since = duration(seconds_since(current.since, now))
        indent = "  " * (depth + len(around))
        yield ScreenRow(ProgressLine(f"{indent}• {name}  {since}", "cyan"), str(key))
