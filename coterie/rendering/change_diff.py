"""Show what an approval would change in files, as a diff."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from pathlib import Path
from typing import cast

from pydantic import JsonValue, ValidationError

from activities.changes.change import Change
from activities.changes.text_edit import NotUnique, TextEdit, edited
from coterie.text.problems import counted

_MAX_FILE_SIZE = 4_000_000
"""Maximum bytes of a file to compare."""
_WRITE = frozenset({"path", "content", "if_sha256"})
"""The input of a call that writes a whole file."""
_EDIT = frozenset(TextEdit.model_fields)
"""The input of a call that edits a file."""
_KINDS = ("create ", "modify ", "delete ")
_MAX_NAMED = 10
"""Hidden hunks that a note names."""
_UNREADABLE = "(compared with no file: the current one cannot be read here)"

FileChange = Change | TextEdit
"""What a call would change in one file."""


def split_changes(show: JsonValue) -> tuple[list[FileChange], JsonValue]:
    """Split the subject of a request into file changes and the rest."""
    if isinstance(show, Mapping):
        found: list[FileChange] = []
        rest: dict[str, JsonValue] = {}
        one = _change(show) or _written_file(show) or _edited_file(show)
        if one is not None:
            condition = show.get("if_sha256")
            return [one], None if condition is None else {"if_sha256": condition}
        for key, value in show.items():
            inner, left = split_changes(value)
            found += inner
            if not inner or left not in (None, [], {}):
                rest[key] = left
        return found, rest or None
    if isinstance(show, Sequence) and not isinstance(show, str) and show:
        changes = [_change(item) for item in show]
        known: list[FileChange] = [change for change in changes if change is not None]
        if len(known) == len(changes):
            return known, None
    return [], show


def diff_lines(changes: Sequence[FileChange], workspace: Path | None) -> Iterator[str]:
    """Yield each change as the lines of a diff.

    Args:
        changes: File changes.
        workspace: Folder of these files; None if they are not on this machine.
    """
    for change in changes:
        if isinstance(change, TextEdit):
            yield f"modify {change.path}"
            yield from _edit_lines(change, _before(change.path, workspace))
            continue
        yield f"{change.type} {change.file_path}"
        if change.diff is not None:
            yield from change.diff.splitlines()
        else:
            before = _before(change.file_path, workspace)
            if before is None:
                yield _UNREADABLE
            yield from _hunks(before or "", change.content or "")


def _edit_lines(edit: TextEdit, before: str | None) -> Iterator[str]:
    """Yield the diff to the file, or of the two texts alone if the edit does not fit it."""
    after = None if before is None else edited(before, edit)
    if before is None or after is None:
        yield _UNREADABLE
    elif isinstance(after, NotUnique):
        yield f"(does not fit the file as it is now: {after.reason})"
    else:
        yield from _hunks(before, after.text)
        return
    yield from _hunks(edit.old, edit.new)


def _hunks(before: str, after: str) -> list[str]:
    hunks = list(unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=3))[2:]
    return hunks or ["(no line changes)"]


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
    named = [f"{counted(more, 'line')} of {name}" for name, more in hidden.items()]
    shown = "; ".join(named[:_MAX_NAMED])
    rest = f"; and {counted(len(named) - _MAX_NAMED, 'more hunk')}" * (len(named) > _MAX_NAMED)
    return [*lines[:maximum], f"[hidden: {shown}{rest}; whole: {whole}]"]


def style_of(line: str) -> str:
    """Return the style of a diff line."""
    if line.startswith(("+++", "---", "@@")):
        return "cyan"
    return {"+": "green", "-": "red"}.get(line[:1], "")


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


def _before(name: str, workspace: Path | None) -> str | None:
    """Return the text of the file now, empty if it does not exist; None if it cannot be read."""
    if workspace is None:
        return None
    try:
        file = (workspace / name).resolve()
        if not file.is_relative_to(workspace.resolve()):
            return None
        if not file.exists():
            return ""
        if not file.is_file() or file.stat().st_size > _MAX_FILE_SIZE:
            return None
        return file.read_bytes().decode()
    except (OSError, ValueError):
        return None
