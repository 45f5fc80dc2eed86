"""Values and texts of a run as a page shows them: whole up to a size; what is cut says so."""

import json
from dataclasses import dataclass

from pydantic import JsonValue

from coterie.text.durations import duration

MAX_SHOWN = 20_000
"""Characters of one value."""
_MAX_OPEN_LINES = 14
_MAX_OPEN = 1_200


@dataclass(frozen=True, slots=True)
class ShownValue:
    """One text or value."""

    text: str
    left_out: int = 0
    """Characters that the page lacks; it says so."""

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return self.text.count("\n") + 1

    @property
    def is_long(self) -> bool:
        """Whether a page folds it."""
        return self.lines > _MAX_OPEN_LINES or len(self.text) > _MAX_OPEN

    @property
    def first_line(self) -> str:
        """Its beginning on one line, for a fold."""
        line = " ".join(self.text.split())
        return f"{line[:80]}…" if len(line) > 80 else line

    @property
    def is_short(self) -> bool:
        """Whether it fits into a cell of a table."""
        return self.lines == 1 and len(self.text) <= 60


def shown_value(value: JsonValue) -> ShownValue:
    """Return a value as text: a text as it is, everything else as JSON."""
    whole = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    return ShownValue(whole[:MAX_SHOWN], max(0, len(whole) - MAX_SHOWN))


def shown_brief(value: JsonValue) -> ShownValue:
    """Return a value on one line, if it is small; else like `shown_value`."""
    whole = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return ShownValue(whole) if len(whole) <= 60 else shown_value(value)


def took(seconds: float) -> str:
    """Return a duration; a short one in milliseconds."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else duration(seconds)
