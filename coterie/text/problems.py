"""Print problems of documents: message, place, the line itself, allowed values, fix."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from coterie.dsl.errors import Problem
from coterie.dsl.redaction import RedactedLine, continued_lines, redacted_line
from coterie.text.document_text import text_of_document
from coterie.text.lines import text_of

ReadLines = Callable[[str], Sequence[str]]
_MAX_WIDTH = 120
_INDENT = "    "


def problems_text(problems: Iterable[Problem], lines_of: ReadLines) -> str:
    """Format problems as `docs/errors.md` explains them, one block each.

    Args:
        problems: In the order of the output.
        lines_of: Returns the lines of a file; none if it is unreadable.
    """
    files: dict[str, _Source] = {}
    texts: list[str] = []
    for problem in problems:
        if problem.file not in files:
            files[problem.file] = _Source(lines_of(problem.file))
        texts.append(_problem(problem, files[problem.file]))
    return "\n".join(texts)


def summary(problems: Sequence[Problem]) -> str:
    """Count problems and warnings: `3 problems, 1 warning`."""
    warnings = sum(problem.severity == "warning" for problem in problems)
    parts = [
        counted(count, word)
        for count, word in ((len(problems) - warnings, "problem"), (warnings, "warning"))
        if count
    ]
    return ", ".join(parts) or "no problems"


def counted(count: int, word: str, plural: str | None = None) -> str:
    """Format a count with its noun: `1 problem`, `2 problems`."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {plural or f'{word}s'}"


def lines_of_file(folder: Path) -> ReadLines:
    """Return a cached reader of files' lines, for excerpts.

    Args:
        folder: Base of relative file names.
    """
    lines_by_file: dict[str, Sequence[str]] = {}

    def lines_of(file: str) -> Sequence[str]:
        if file not in lines_by_file:
            try:
                lines_by_file[file] = text_of_document(folder / file).splitlines()
            except (OSError, ValueError):
                lines_by_file[file] = ()
        return lines_by_file[file]

    return lines_of


class _Source:
    """The lines of one file: each is read once, however often it is shown."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._continued = continued_lines(lines)
        self._redacted: dict[int, RedactedLine] = {}

    def line(self, number: int) -> RedactedLine | None:
        """Return a line without secrets, by its number from 1; None if there is none."""
        if not 1 <= number <= len(self._lines):
            return None
        if number not in self._redacted:
            continues = number - 1 in self._continued
            self._redacted[number] = redacted_line(self._lines[number - 1], continues=continues)
        return self._redacted[number]


def _problem(problem: Problem, source: _Source) -> str:
    kind = "" if problem.severity == "error" else "warning: "
    lines_shown = [
        f"{problem.file}:{problem.line}:{problem.column}: {kind}{problem.message} [{problem.code}]"
    ]
    lines_shown += _excerpt(problem, source)
    if problem.step or problem.path:
        lines_shown.append(f"{_INDENT}{problem.step or problem.path}")
    if problem.allowed:
        lines_shown.append(f"{_INDENT}allowed: {problem.allowed}")
    if problem.fix:
        lines_shown.append(f"{_INDENT}fix: {problem.fix}")
    return text_of(lines_shown)


def _excerpt(problem: Problem, source: _Source) -> list[str]:
    """Show the line without secrets, with a caret below the place; a window of a long line."""
    line = source.line(problem.line)
    if line is None:
        return []
    column = line.column(problem.column - 1)
    begin = max(0, column - _MAX_WIDTH // 2) if len(line.text) > _MAX_WIDTH else 0
    excerpt = line.text[begin : begin + _MAX_WIDTH].replace("\t", " ")
    gutter = f"{problem.line:>6} | "
    return [f"{gutter}{excerpt}", " " * (len(gutter) - 2) + "| " + " " * (column - begin) + "^"]
