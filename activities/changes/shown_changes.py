"""Show what a call would change in files, as a diff, before it is made."""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from itertools import accumulate, islice, takewhile
from pathlib import Path
from typing import NamedTuple, cast

from pydantic import JsonValue, ValidationError

from coterie.activities.changes.change import Change
from coterie.activities.changes.text_edit import NotUnique, TextEdit, edited
from coterie.activities.workspace.secret_files import holds_secrets
from coterie.dsl.visible import one_line, shortened_text

_MAX_FILE_SIZE = 4_000_000
"""Maximum bytes of a file to compare."""
_WRITE = frozenset({"path", "content", "if_sha256"})
"""The input of a call that writes a whole file."""
_EDIT = frozenset(TextEdit.model_fields)
"""The input of a call that edits a file."""
_CONTEXT = 3
_HUNK = re.compile(r"@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")
_MAX_LINES, _MAX_LINE, _MAX_SIZE = 120, 500, 12_000
"""Of a diff in a message: its lines, and characters of a line and of all."""
_MAX_COMPARED = 2_000
"""Lines of one change that are compared for a message: models write them, and comparing takes more
than linear time."""
_KINDS = ("create ", "modify ", "delete ")
_MAX_NAMED = 10
"""Hidden hunks that a note names."""
_UNREADABLE = "(compared with no file: the current one cannot be read here)"
_SECRET = "(compared with no file: the current one may contain secrets)"

UNKNOWN = "(what this call changes in files is not known before it runs)"
KNOWN_BEFORE = frozenset(
    {
        *("AssetManager.apply_changes", "AssetManager.process_action", "Files.edit", "Files.write"),
        *("Cache.put", "Git.commit", "Memory.store"),
    }
)
"""Functions that change something, whose changes of files a request shows, or that change no file
of the project. A command, a function or a tool of a server may change any."""


class AskedChange(NamedTuple):
    """What is known of a request that may change files."""

    show: JsonValue
    """What it shows."""
    given: JsonValue
    """The input of the call, which it may not show."""
    call: str = ""
    """The tool function, function or tool that would run, if it may change something."""
    commit: Sequence[str] = ()
    """The diff of what it would commit."""


FileChange = Change | TextEdit
"""What a call would change in one file."""


def split_changes(show: JsonValue) -> tuple[list[FileChange], JsonValue]:
    """Split the subject of a request into file changes and the rest."""
    if isinstance(show, Mapping):
        nested_changes: list[FileChange] = []
        rest: dict[str, JsonValue] = {}
        file_change = _change(show) or _written_file(show) or _edited_file(show)
        if file_change is not None:
            condition = show.get("if_sha256")
            return [file_change], None if condition is None else {"if_sha256": condition}
        for key, value in show.items():
            inner, inner_rest = split_changes(value)
            nested_changes += inner
            if not inner or inner_rest not in (None, [], {}):
                rest[key] = inner_rest
        return nested_changes, rest or None
    if isinstance(show, Sequence) and not isinstance(show, str) and show:
        changes = [_change(item) for item in show]
        file_changes: list[FileChange] = [change for change in changes if change is not None]
        if len(file_changes) == len(changes):
            return file_changes, None
    return [], show


def asked_changes(asked: AskedChange) -> tuple[list[FileChange], JsonValue]:
    """Return the file changes of a request, and the rest of what it shows.

    What would run counts, whatever the request shows: only that is drawn as a diff.
    """
    preview, rest = split_changes(asked.show)
    changes, _ = split_changes(asked.given)
    return changes, rest if all(change in changes for change in preview) else asked.show


def diff_lines(
    changes: Sequence[FileChange], workspace: Path | None, compared: int | None = None
) -> Iterator[str]:
    """Yield each change as the lines of a diff.

    Args:
        changes: File changes.
        workspace: Folder of these files; None if they are not on this machine.
        compared: How many lines of a change to compare; None for all.
    """
    for change in changes:
        if isinstance(change, TextEdit):
            yield f"modify {change.path}"
            yield from _edit_lines(change, _before(change.path, workspace), compared)
            continue
        yield f"{change.type} {change.file_path}"
        if change.diff is not None:
            yield from change.diff.splitlines()
        else:
            before = _before(change.file_path, workspace)
            if before is None:
                yield _why_unread(change.file_path)
            yield from _hunks(before or "", change.content or "", compared)


def request_diff(
    asked: AskedChange, workspace: Path | None, compared: int | None = None
) -> list[str]:
    """Return the lines that say what a request would change in files; none if it changes none.

    Args:
        asked: What is known of the request.
        workspace: Folder of the files that it would change; None if it is elsewhere.
        compared: How many lines of a change to compare; None for all.
    """
    changes, _ = asked_changes(asked)
    if changes:
        return [one_line(line) for line in diff_lines(changes, workspace, compared)]
    if asked.commit:
        return [one_line(line) for line in asked.commit]
    return [UNKNOWN] if asked.call and asked.call not in KNOWN_BEFORE else []


def shortened_diff(asked: AskedChange, workspace: Path | None, whole: str) -> str:
    """Return what a request would change in files, for a message; empty if it changes none.

    A long diff is cut, and names every hunk that it hides.

    Args:
        asked: What is known of the request.
        workspace: Folder of the files that it would change; None if it is elsewhere.
        whole: The command that shows all.
    """
    lines = [
        shortened_text(line, _MAX_LINE) for line in request_diff(asked, workspace, _MAX_COMPARED)
    ]
    sizes = accumulate(len(line) + 1 for line in lines)
    room = sum(size <= _MAX_SIZE for size in islice(sizes, _MAX_LINES))
    return "\n".join(cut_diff(lines, room, whole))


def _edit_lines(edit: TextEdit, before: str | None, compared: int | None) -> Iterator[str]:
    """Yield the diff to the file, or of the two texts alone if the edit does not fit it."""
    after = None if before is None else edited(before, edit)
    if before is None or after is None:
        yield _why_unread(edit.path)
    elif isinstance(after, NotUnique):
        yield f"(does not fit the file as it is now: {after.reason})"
    else:
        yield from _hunks(before, after.text, compared)
        return
    yield from _hunks(edit.old, edit.new, compared)


def _hunks(before: str, after: str, compared: int | None) -> list[str]:
    """Return the hunks; only what lies between the equal beginning and end is compared."""
    old, new = before.splitlines(), after.splitlines()
    pairs = zip(old, new, strict=False)
    start = max(sum(1 for _ in takewhile(_are_equal, pairs)) - _CONTEXT, 0)
    ends = zip(reversed(old[start:]), reversed(new[start:]), strict=False)
    end = max(sum(1 for _ in takewhile(_are_equal, ends)) - _CONTEXT, 0)
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    if compared is not None and len(old) + len(new) > compared:
        return [f"@@ (too long to compare here: {len(old)} lines become {len(new)})"]
    hunks = list(unified_diff(old, new, lineterm="", n=_CONTEXT))[2:]
    return [_shift_numbers(line, start) for line in hunks] or ["(no line changes)"]


def _are_equal(pair: tuple[str, str]) -> bool:
    return pair[0] == pair[1]


def _shift_numbers(line: str, start: int) -> str:
    """Return the line of a diff; the numbers of a hunk count from the beginning of the file."""
    head = _HUNK.fullmatch(line)
    if head is None or not start:
        return line
    old, new = (int(head[n]) + start for n in (1, 3))
    return f"@@ -{old}{head[2] or ''} +{new}{head[4] or ''} @@"


def cut_diff(lines: Sequence[str], maximum: int, whole: str) -> list[str]:
    """Return at most so many lines of a diff, and a note that names each hunk with hidden lines.

    Args:
        lines: Of `diff_lines`.
        maximum: How many of them.
        whole: The command that shows all.
    """
    hidden: dict[str, int] = {}
    place = hunk = ""
    for number, line in enumerate(lines):
        if line.startswith(_KINDS):
            place, hunk = line.partition(" ")[2], ""
        elif line.startswith("@@"):
            hunk = line
        if number >= maximum:
            name = f"{place} {hunk}".strip()
            hidden[name] = hidden.get(name, 0) + 1
    if not hidden:
        return list(lines)
    named = [f"{_count_text(more, 'line')} of {name}" for name, more in hidden.items()]
    names = "; ".join(named[:_MAX_NAMED])
    rest = f"; and {_count_text(len(named) - _MAX_NAMED, 'more hunk')}" * (len(named) > _MAX_NAMED)
    return [*lines[:maximum], f"[hidden: {names}{rest}; whole: {whole}]"]


def _count_text(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


def _change(value: JsonValue) -> Change | None:
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, JsonValue]", value)
    try:
        return Change.model_validate(fields)
    except ValidationError:
        return None


def _written_file(show: Mapping[str, JsonValue]) -> Change | None:
    """Return the change that a call with this input makes, if it writes a whole file."""
    path, content = show.get("path"), show.get("content")
    if not isinstance(path, str) or not isinstance(content, str) or not show.keys() <= _WRITE:
        return None
    if not path.strip():
        return None
    return Change(file_path=path, type="modify", content=content)


def _edited_file(show: Mapping[str, JsonValue]) -> TextEdit | None:
    """Return the edit that a call with this input makes, if it edits a file."""
    if not show.keys() <= _EDIT:
        return None
    try:
        return TextEdit.model_validate(show)
    except ValidationError:
        return None


def _why_unread(name: str) -> str:
    return _SECRET if holds_secrets(name) else _UNREADABLE


def _before(name: str, workspace: Path | None) -> str | None:
    """Return the text of the file now, empty if it does not exist; None if it cannot be read."""
    if workspace is None or holds_secrets(name):
        return None
    try:
        file = (workspace / name).resolve()
        if not file.is_relative_to(workspace.resolve()) or holds_secrets(file.name):
            return None
        if not file.exists():
            return ""
        if not file.is_file() or file.stat().st_size > _MAX_FILE_SIZE:
            return None
        return file.read_bytes().decode()
    except (OSError, ValueError):
        return None
