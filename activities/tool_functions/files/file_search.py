"""`Files.search`: find the lines of the project's files that match a regular expression.

RE2 matches in linear time, and the searched bytes are bounded, so no expression and no project can
keep the worker busy.
"""

import re
from collections.abc import Iterator

from pydantic import Field, TypeAdapter

from coterie.activities.contracts import FailureType
from coterie.activities.threads.run_threads import FUNCTION_THREADS
from coterie.activities.tool_functions.files.file_listing import selected
from coterie.activities.workspace.file_walk import Entry
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction, Workspace
from coterie.activities.workspace.function_failures import FunctionRefusal
from coterie.activities.workspace.project_files import read_file
from coterie.activities.workspace.text_files import decoded
from coterie.dsl.regular_expressions import Pattern, pattern
from coterie.dsl.schema_keys import KIND
from coterie.dsl.values import Documented
from coterie.dsl.visible import shortened_text

MAX_SEARCHED_BYTES = 50_000_000
"""Of all files of one search, for an expression of up to 64 instructions; less for larger ones,
because RE2 may look at each instruction for each character."""

_SMALL_PROGRAM = 64

MAX_FILE_BYTES = 2_000_000
"""Larger files are skipped: they are data, not text that somebody wrote."""

MAX_LINE = 500
"""Characters of a line that a result shows."""


class FileSearchInput(Documented):
    """What to look for, and where."""

    pattern: str = Field(min_length=1, max_length=1000)
    """A regular expression in RE2 syntax (no look-around, no back references), for each line
    alone."""
    literal: bool = False
    """Read `pattern` as plain text."""
    ignore_case: bool = False
    """Ignore upper and lower case."""
    path: str = Field(default=".", min_length=1, max_length=4096, json_schema_extra={KIND: "path"})
    """A folder or file, relative to the workspace."""
    include: tuple[str, ...] = Field(default=(), max_length=100)
    """Globs as in a `.gitignore`; empty means all files."""
    exclude: tuple[str, ...] = Field(default=(), max_length=100)
    """Globs as in a `.gitignore`."""
    context_lines: int = Field(default=0, ge=0, le=10)
    """Lines to show before and after each match."""
    max_matches: int = Field(default=100, ge=1, le=1000)
    """Matching lines to return."""


class FileMatch(Documented):
    """A line that matches."""

    path: str
    """Relative to the workspace."""
    line: int
    """Its number, from 1."""
    text: str
    """The line, at most 500 characters."""
    before: list[str]
    """The lines before it, as `context_lines` wants."""
    after: list[str]
    """The lines after it."""


class FileSearchResult(Documented):
    """The matches, by path and line."""

    matches: list[FileMatch]
    """At most `max_matches`."""
    searched_files: int
    """Text files that were searched."""
    skipped_files: int
    """Files that were not: binary, larger than 2 MB, unreadable, or possibly with secrets."""
    complete: bool
    """False if there are more matches than `max_matches`, or more than 50 MB to search (less for a
    large expression)."""


async def search_files(value: FileSearchInput, context: FunctionContext) -> FileSearchResult:
    """Search files.

    Raises:
        FunctionRefusal: The expression is invalid, the path leads outside the project, or a glob is
            malformed.
        FunctionFailure: Nothing exists at the path.
    """
    text = re.escape(value.pattern) if value.literal else value.pattern
    flags = "(?i)" if value.ignore_case else ""
    try:
        compiled = pattern(flags + text)
    except ValueError as error:
        raise FunctionRefusal(f"the pattern is invalid in RE2 syntax: {error}") from None
    return await FUNCTION_THREADS.finish(_search, value, compiled, context.workspace)


def _search(value: FileSearchInput, compiled: Pattern, workspace: Workspace) -> FileSearchResult:
    matches: list[FileMatch] = []
    searched = skipped = size = 0
    complete = True
    budget = MAX_SEARCHED_BYTES * _SMALL_PROGRAM // max(_SMALL_PROGRAM, compiled.programsize)
    for entry in selected(workspace, value.path, value.include, value.exclude):
        if size > budget:
            complete = False
            break
        text = _text(workspace, entry)
        if text is None:
            skipped += 1
            continue
        searched += 1
        size += entry.bytes
        for match in _matches(entry.path, text, compiled, value.context_lines):
            if len(matches) == value.max_matches:
                complete = False
                break
            matches.append(match)
        if not complete:
            break
    return FileSearchResult(
        matches=matches, searched_files=searched, skipped_files=skipped, complete=complete
    )


def _text(workspace: Workspace, entry: Entry) -> str | None:
    if entry.why_not or entry.bytes > MAX_FILE_BYTES:
        return None
    try:
        return decoded(read_file(workspace.root, entry.path, MAX_FILE_BYTES))
    except OSError:
        return None


def _matches(path: str, text: str, compiled: Pattern, around: int) -> Iterator[FileMatch]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    for index, line in enumerate(lines):
        if compiled.search(line.removesuffix("\r")) is not None:
            yield FileMatch(
                path=path,
                line=index + 1,
                text=_shown_line(line),
                before=[_shown_line(other) for other in lines[max(0, index - around) : index]],
                after=[_shown_line(other) for other in lines[index + 1 : index + 1 + around]],
            )


def _shown_line(line: str) -> str:
    return shortened_text(line.removesuffix("\r"), MAX_LINE)


SEARCH = ToolFunction[FileSearchInput, FileSearchResult](
    name="Files.search",
    description="Finds lines in the project's text files by a regular expression.",
    effect="read",
    input=TypeAdapter(FileSearchInput),
    output=TypeAdapter(FileSearchResult),
    run=search_files,
    timeout=60.0,
    labels=("private",),
    errors={
        FailureType.FUNCTION_REFUSED: "the expression is invalid or too large, the path leads "
        "outside the workspace, or a glob is malformed",
        FailureType.FUNCTION_FAILED: "nothing exists at the path",
    },
)
