"""Show what an approval would change in files, as a diff."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from pathlib import Path
from typing import cast

from pydantic import JsonValue, ValidationError

from activities.changes.change import Change

_MAX_FILE_LENGTH = 200_000
"""Maximum characters of a file to compare."""


def split_changes(show: JsonValue) -> tuple[list[Change], JsonValue]:
    """Split the subject of a request into file changes and the rest."""
    if isinstance(show, Mapping):
        found: list[Change] = []
        rest: dict[str, JsonValue] = {}
        one = _change(show)
        if one is not None:
            return [one], None
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
            after = change.content.splitlines()
            yield from list(unified_diff(before, after, lineterm="", n=2))[2:]


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


def _before(name: str, workspace: Path | None) -> list[str]:
    if workspace is None:
        return []
    file = (workspace / name).resolve()
    try:
        if not file.is_relative_to(workspace.resolve()) or not file.is_file():
            return []
        return file.read_text(encoding="utf-8")[:_MAX_FILE_LENGTH].splitlines()
    except (OSError, UnicodeDecodeError):
        return []
