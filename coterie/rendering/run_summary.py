"""Summarise how a run ended: its visits, decisions, cost and output."""

import json
import shutil
import sys
from collections.abc import Iterator
from shlex import quote

from pydantic import JsonValue

from coterie.rendering.progress_lines import head_line, text_lines, visit_lines, wrapped
from coterie.rendering.request_text import decision_line
from coterie.rendering.run_text import outputs, work_text
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.ends.end_words import run_end_line
from coterie.runs.progress import Progress
from coterie.text.lines import text_of
from dsl.visible import one_line
from workflows.core.views import TeamResult

_MAX_WIDTH = 120
_MAX_LINES = 12
"""Maximum lines of one output text."""
_MARGIN = " " * 13


def summary_width() -> int:
    """Return the width of standard output in cells."""
    wide = shutil.get_terminal_size().columns if sys.stdout.isatty() else _MAX_WIDTH
    return max(40, min(wide, _MAX_WIDTH))


def summary_text(run: str, end: RunEnd, rows: Progress, width: int) -> str:
    """Format the summary.

    Args:
        run: Id of the run.
        end: How it ended.
        rows: Its visits.
        width: Line width, in cells.
    """
    lines: list[str] = []
    if rows.visits:
        lines += [text_lines([head_line(width), *visit_lines(rows, width)]), ""]
    lines += wrapped(run_end_line(run, end), width, "", "  ")
    result = end.result
    if result is not None:
        lines += _facts_lines(result, width)
        lines += _output_lines(result, width)
    more = f"coterie why {quote(run)}, coterie cost {quote(run)}, coterie result {quote(run)}"
    lines += wrapped(f"  more       {more}", width, "", _MARGIN)
    return text_of(line for part in lines for line in part.split("\n"))


def _facts_lines(result: TeamResult, width: int) -> Iterator[str]:
    if result.error is not None:
        error = f"  error      {result.error.type}: {result.error.message}"
        yield from wrapped(error, width, "", _MARGIN)
    for decision in result.decisions:
        yield from wrapped(f"  decision   {decision_line(decision)}", width, "", _MARGIN)
    yield from wrapped(f"  spent      {work_text(result)}", width, "", _MARGIN)


def _output_lines(result: TeamResult, width: int) -> Iterator[str]:
    """Yield the last team's output: short texts in full, a sketch of the rest."""
    for name, data in outputs(result):
        if isinstance(data, str):
            lines = wrapped(data.rstrip("\n"), width, "    ")
            yield f"  {one_line(name)}:"
            yield from lines[:_MAX_LINES]
            if len(lines) > _MAX_LINES:
                yield f"    ... {len(lines) - _MAX_LINES} more lines"
        elif data is not None:
            yield from wrapped(f"  {name}: {_brief(data)}", width, "", "    ")[:2]


def _brief(data: JsonValue) -> str:
    match data:
        case dict():
            return f"{{{', '.join(f'{key}: {_scalar(value)}' for key, value in data.items())}}}"
        case list():
            return f"a list of {len(data)}"
        case _:
            return _scalar(data)


def _scalar(value: JsonValue) -> str:
    match value:
        case dict():
            return "{...}"
        case list():
            return f"[{len(value)} items]" if value else "[]"
        case str() if len(value) > 60:
            return f'{json.dumps(value[:57], ensure_ascii=False)[:-1]}..."'
        case _:
            return json.dumps(value, ensure_ascii=False)
