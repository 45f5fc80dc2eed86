"""Format a request as a panel: the question, its subject, the diff, the terms."""

import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from coterie.activities.changes.shown_changes import asked_changes, cut_diff, request_diff
from coterie.rendering.decision_commands import show_command
from coterie.rendering.progress_lines import ProgressLine, wrapped
from coterie.rendering.request_text import asked_change, subject_lines, why_asked
from coterie.text.moments import day_and_clock
from coterie.workflows.core.requests import Pending

_MAX_LINES = 120
_MIN_DIFF_LINES = 40


def panel_lines(
    run: str,
    request: Pending,
    width: int,
    workspace: Path | None,
    *,
    max_lines: int | None = _MAX_LINES,
) -> list[ProgressLine]:
    """Return the lines inside the panel, wrapped at words with hanging indents.

    Args:
        run: Id of the run.
        request: The waiting request.
        width: Inner width of the panel, in cells.
        workspace: Folder of the files that it would change; None if it is elsewhere.
        max_lines: Of the question and its subject; None for all.
    """
    asked = asked_change(request)
    _, rest = asked_changes(asked)
    diff = request_diff(asked, workspace)
    whole = show_command(run, request.id)
    lines = [ProgressLine(line, "bold") for line in wrapped(request.prompt, width, "")]
    shown = list(_value_lines(rest, width))
    if shown:
        lines += [ProgressLine(""), *(ProgressLine(line) for line in shown)]
    if diff:
        lines.append(ProgressLine(""))
        room = len(diff) if max_lines is None else max(max_lines - len(lines), _MIN_DIFF_LINES)
        for line in cut_diff(diff, room, whole):
            style = _style(line)
            lines += [ProgressLine(part, style) for part in wrapped(line, width, "", "    ")]
    if max_lines is not None and not diff and len(lines) > max_lines:
        more = len(lines) - max_lines
        more_lines = f"... {more} more lines: {whole}"
        lines = [*lines[:max_lines], ProgressLine(more_lines, "dim")]
    return [
        *lines,
        ProgressLine(""),
        *(ProgressLine(line, "dim") for line in _terms(request, width)),
    ]


def plain_lines(run: str, request: Pending, workspace: Path | None) -> Iterator[str]:
    """Yield the subject without a panel, and why a person is asked; file changes as a diff.

    Args:
        run: Id of the run.
        request: The waiting request.
        workspace: Folder of the files that it would change; None if it is elsewhere.
    """
    yield from subject_lines(request, workspace, show_command(run, request.id))
    yield from why_asked(request)


def _style(line: str) -> str:
    if line.startswith(("+++", "---", "@@")):
        return "cyan"
    return {"+": "green", "-": "red"}.get(line[:1], "")


def _value_lines(value: JsonValue, width: int) -> Iterator[str]:
    if value is None:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            margin = f"{key}: "
            yield from wrapped(f"{margin}{_text(inner)}", width, "", " " * min(len(margin), 12))
    else:
        yield from wrapped(_text(value), width, "")


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def _terms(request: Pending, width: int) -> Iterator[str]:
    for why in why_asked(request):
        yield from wrapped(why.strip(), width, "", "  ")
    who = ", ".join(request.approvers) or "anyone"
    quorum = f"; {request.quorum} must approve" if request.quorum > 1 else ""
    yield from wrapped(f"may decide: {who}{quorum}", width, "", "  ")
    if request.deadline:
        until = f"until: {day_and_clock(request.deadline)}, then: {request.at_deadline}"
        yield from wrapped(until, width, "", "  ")
