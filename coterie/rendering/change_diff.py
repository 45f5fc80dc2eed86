"""Show what an approval would change in files, as a diff."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from pathlib import Path
from typing import cast

from pydantic import JsonValue, ValidationError

from activities.changes.change import Change
from coterie.text.problems import counted

_MAX_FILE_SIZE = 4_000_000
"""Maximum bytes of a file to compare."""
_WRITE = frozenset({"path", "content", "if_sha256"})
"""The input of a call that writes a whole file."""
_KINDS = ("create ", "modify ", "delete ")
_MAX_NAMED = 10
"""Hidden hunks that a note names."""


def split_changes(show: JsonValue) -> tuple[list[Change], JsonValue]:
    """Split the subject of a request into file changes and the rest."""
    if isinstance(show, Mapping):
        found: list[Change] = []
        rest: dict[str, JsonValue] = {}
        one = _change(show) or _written_file(show)
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
        known = [change for change in changes if change is not None]
        if len(known) == len(changes):
            return known, None
    return [], show


def diff_lines(changes: Sequence[Change], workspace: Path | None) -> Iterator[str]:
    """Yield each change as the lines of a diff.

    Args:
        changes: File changes.
        workspace: Folder of these files; None if they are not on this machine.
    """
    for change in changes:
        yield f"{change.type} {change.file_path}"
        if change.diff is not None:
            yield from change.diff.splitlines()
        elif change.content is not None:
            before = _before(change.file_path, workspace)
            if before is None:
                yield "(compared with no file: the current one cannot be read here)"
            after = change.content.splitlines()
            hunks = list(unified_diff(before or [], after, lineterm="", n=3))[2:]
            yield from hunks or ["(no line changes)"]


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
    if not isinstance(fields.get("diff"), str) and not isinstance(fields.get("content"), str):
        return None
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


def _before(name: str, workspace: Path | None) -> list[str] | None:
    """Return the lines of the file now, none if it does not exist; None if it cannot be read."""
    if workspace is None:
        return None
    try:
        file = (workspace / name).resolve()
        if not file.is_relative_to(workspace.resolve()):
            return None
        if not file.exists():
            return []
        if not file.is_file() or file.stat().st_size > _MAX_FILE_SIZE:
            return None
        return file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return None
