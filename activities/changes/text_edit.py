"""Replace one part of a text, which must occur exactly once; nothing is read or written here."""

from dataclasses import dataclass

from pydantic import Field

from coterie.dsl.schema_keys import KIND
from coterie.dsl.values import Documented

MAX_EDITED_BYTES = 4_000_000
"""Size of a file to edit; a request to edit a larger one could show no diff."""
_MAX_FOUND = 100
_MAX_NAMED = 10


class TextEdit(Documented):
    """The file, and which text of it becomes which."""

    path: str = Field(min_length=1, max_length=4096, json_schema_extra={KIND: "path"})
    """Relative to the workspace. The file must exist."""
    old: str = Field(min_length=1, max_length=100_000)
    """The text to replace, exactly as it is in the file, with its spaces and line ends. It must
    occur exactly once: include as many lines around it as make it unique."""
    new: str = Field(max_length=1_000_000)
    """The text that replaces it; empty to delete it."""
    if_sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    """Edit only if the file has this hash now, as `Files.read` returned it."""


@dataclass(frozen=True, slots=True)
class Edited:
    """The text after an edit."""

    text: str


@dataclass(frozen=True, slots=True)
class NotUnique:
    """Why an edit does not fit a text."""

    reason: str


def edited(text: str, edit: TextEdit) -> Edited | NotUnique:
    """Replace the one occurrence of `old`, or say how often and where it occurs."""
    places = _places(text, edit.old)
    if len(places) == 1:
        start = places[0]
        return Edited(text[:start] + edit.new + text[start + len(edit.old) :])
    if places:
        return NotUnique(_several(text, places))
    reason = "`old` does not occur in it (0 times); read the file again and copy the text exactly"
    if "\r\n" in text and "\n" in edit.old.replace("\r\n", ""):
        reason += ": lines of this file end with \\r\\n"
    return NotUnique(reason)


def is_present(text: str, edit: TextEdit) -> bool:
    """Return whether a text already is what the edit made of it: `old` is only within `new`."""
    return edit.old not in text.replace(edit.new, "")


def _places(text: str, old: str) -> list[int]:
    """Return where a text begins, also where it overlaps itself; not many more than are named."""
    places: list[int] = []
    start = text.find(old)
    while start >= 0 and len(places) <= _MAX_FOUND:
        places.append(start)
        start = text.find(old, start + 1)
    return places


def _several(text: str, places: list[int]) -> str:
    lines = [str(text.count("\n", 0, start) + 1) for start in places[:_MAX_NAMED]]
    often = f"more than {_MAX_FOUND}" if len(places) > _MAX_FOUND else str(len(places))
    more = ", ..." if len(places) > _MAX_NAMED else ""
    return (
        f"`old` occurs {often} times, on lines {', '.join(lines)}{more}; "
        "include more of the lines around it, so that it occurs once"
    )
