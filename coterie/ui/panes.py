"""Show what a run thinks, does, uses and asks: the lines of each pane of the screen.

Pure: takes what was observed, returns lines.
"""

import json
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from coterie.display.following.live_text_lines import last_lines
from coterie.dsl.visible import one_line
from coterie.rendering.cost_tables import budget_lines
from coterie.rendering.progress_lines import TONES, ProgressLine, wrapped
from coterie.rendering.request_text import panel_lines
from coterie.rendering.run_text import paused_text, work_text
from coterie.runs.ends.end_words import incomplete_reason
from coterie.runs.run_view import RunView, StepRow
from coterie.text.durations import duration
from coterie.text.task_counts import progress_of_tasks
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.views import BudgetUse

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
    passed = duration(seen.seconds(now))
    state, tone = seen.state
    visits = f"visit {status.visits_toward_limit} of {status.max_total_teams}"
    lines.append(ProgressLine(f"{one_line(seen.run)}  {state}  {passed}  {visits}", TONES[tone]))
    if seen.end is not None and not seen.end.completed:
        lines += [
            ProgressLine(one, "red")
            for one in wrapped(incomplete_reason(seen.end), width, "  ")[:3]
        ]
    elif seen.paused is not None:
        paused = wrapped(paused_text(seen.paused), width, "  ")
        lines += [ProgressLine(line, "yellow") for line in paused[:2]]
    for step, tasks in seen.graphs.items():
        counts = Counter(one.status for one in tasks.values())
        done = counts.get("completed", 0) / max(len(tasks), 1)
        lines.append(ProgressLine(f"{_bar(done)} {done:.0%}  {progress_of_tasks(step, counts)}"))
    return lines


def thought_lines(seen: RunView, width: int) -> list[ProgressLine]:
    """Return the answers that models write; without one, the last words and the last turn."""
    if seen.answers:
        return [ProgressLine(line) for line in last_lines(seen.answers, width)]
    lines: list[ProgressLine] = []
    turn = seen.last_turn
    if turn is not None:
        step = one_line(f"{turn.team}/{turn.step}")
        lines += [ProgressLine(one) for one in wrapped(f"{step}: {turn.because}", width, "")[:4]]
    for answer in seen.last_words[-1:]:
        said = wrapped(answer.tail.text, width, "  | ")[-4:]
        lines += [ProgressLine(f"{one_line(answer.step)} wrote:", "dim")]
        lines += [ProgressLine(line, "dim") for line in said]
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
        said = wrapped(attempt, width, "↻ ", "  ")[:_MAX_RETRY_LINES]
        lines += [ProgressLine(line, "yellow") for line in said]
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
        shown = step.arguments
        text = shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)
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
        labels = ", ".join(dict.fromkeys(one.label for one in request.met))
        yield f"it sends data out, and the run has met: {labels}"
    if request.remembered_as is not None:
        yield "an approval also answers equal requests of this run"
    if request.cut:
        yield "shortened; the dialog of a decision shows it whole"
