"""Summarise how a run ended: its visits, decisions, cost and output."""

import json
import shutil
import sys
from collections.abc import Iterator
from itertools import islice
from shlex import quote

from pydantic import JsonValue

from coterie.dsl.visible import one_line
from coterie.rendering.progress_lines import head_line, text_lines, visit_lines, wrapped
from coterie.rendering.request_text import decision_line
from coterie.rendering.run_text import outputs, work_text
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.ends.end_words import run_end_line
from coterie.runs.progress import Progress
from coterie.text.lines import text_of
from coterie.workflows.core.views import TeamResult

_MAX_WIDTH = 120
_MAX_LINES = 12
"""Maximum lines of one text of the output; a mapping or a list has twice as many."""
_MAX_COUNTED = 1_000
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
    """Yield the last team's output: what it holds, up to some lines of each part."""
    for name, data in outputs(result):
        if data is None:
            continue
        label = f"  {one_line(name)}:"
        brief = None if isinstance(data, str) else compact(data, width - len(label) - 1)
        if brief is not None:
            yield f"{label} {brief}"
            continue
        yield label
        lines = list(islice(value_lines(data, width, "    "), _MAX_COUNTED))
        most = _MAX_LINES if isinstance(data, str) else 2 * _MAX_LINES
        yield from lines[:most]
        if len(lines) > most:
            over = "over " if len(lines) == _MAX_COUNTED else ""
            yield f"    ... {over}{len(lines) - most} more lines"


_MAX_NESTED = 4
"""Lines of a text within a mapping or a list, so that it does not hide the rest."""


def compact(value: JsonValue, room: int) -> str | None:
    """Return the value on one line of at most `room` characters; None if it does not fit."""
    if room < 1:  # and so nothing deep is walked
        return None
    match value:
        case dict():
            items = ((f"{one_line(key)}: ", item) for key, item in value.items())
            return _join_parts("{", items, "}", room)
        case list():
            return _join_parts("[", (("", item) for item in value), "]", room)
        case str() if len(value) > room:
            return None
        case _:
            text = json.dumps(value, ensure_ascii=False)
            return text if len(text) <= room else None


def _join_parts(
    opening: str, items: Iterator[tuple[str, JsonValue]], closing: str, room: int
) -> str | None:
    """Return the parts between brackets; stop at the first that does not fit."""
    text = opening
    for number, (label, item) in enumerate(items):
        text += f"{', ' if number else ''}{label}"
        part = compact(item, room - len(text) - len(closing))
        if part is None:
            return None
        text += part
    return text + closing if len(text) < room else None


def value_lines(value: JsonValue, width: int, indent: str) -> Iterator[str]:
    """Yield the value on as many lines as it needs, the parts of mappings and lists below them."""
    match value:
        case dict() if value:
            for key, item in value.items():
                yield from _lines_of_part(f"{one_line(key)}:", item, width, indent)
        case list() if value:
            for item in value:
                yield from _lines_of_part("-", item, width, indent)
        case str():
            yield from wrapped(value.rstrip("\n"), width, indent)
        case _:
            yield from wrapped(json.dumps(value, ensure_ascii=False), width, indent)


def _lines_of_part(label: str, item: JsonValue, width: int, indent: str) -> Iterator[str]:
    brief = compact(item, width - len(indent) - len(label) - 1)
    if brief is not None:
        yield f"{indent}{label} {brief}"
        return
    if 2 * len(indent) > width:  # too deep to be read
        yield f"{indent}{label} ..."
        return
    yield f"{indent}{label}"
    lines = value_lines(item, width, f"{indent}  ")
    yield from lines if not isinstance(item, str) else islice(lines, _MAX_NESTED)
    if next(lines, None) is not None:
        yield f"{indent}  ..."
