"""Read the fields of calendars and cron as Temporal reads them: `*`, `5`, `9-17`, `*/15`, `mon`."""

from collections.abc import Callable
from typing import Literal, NamedTuple

Part = Literal["second", "minute", "hour", "day_of_month", "month", "year", "day_of_week"]

_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
FIRST_YEAR = 2000
LAST_YEAR = 2100


class FieldForm(NamedTuple):
    """What a field may hold."""

    first: int
    last: int
    names: tuple[str, ...] = ()
    first_name: int = 0
    """The number of the first name."""
    letters: int = 3
    """How many letters of a name are enough."""


FORMS: dict[Part, FieldForm] = {
    "second": FieldForm(0, 59),
    "minute": FieldForm(0, 59),
    "hour": FieldForm(0, 23),
    "day_of_month": FieldForm(1, 31),
    "month": FieldForm(1, 12, _MONTHS, 1),
    "year": FieldForm(FIRST_YEAR, LAST_YEAR),
    "day_of_week": FieldForm(0, 7, _DAYS, 0, letters=2),
}
"""0 and 7 are Sunday."""


class FieldProblem(Exception):
    """A field that is none."""

    def __init__(self, part: Part, text: str) -> None:
        super().__init__(part, text)
        self.part: Part = part
        self.text = text


class Calendar(NamedTuple):
    """Local times: all that match every part."""

    second: tuple[int, ...]
    minute: tuple[int, ...]
    hour: tuple[int, ...]
    day_of_month: tuple[int, ...]
    month: tuple[int, ...]
    year: tuple[int, ...]
    day_of_week: tuple[int, ...]
    """0 is Sunday."""

    @property
    def restricts_days(self) -> bool:
        """Whether a day must fit both as a day of the month and as a day of the week."""
        return len(self.day_of_month) < 31 and len(self.day_of_week) < 7


def every(part: Part) -> tuple[int, ...]:
    """Return all values of a part."""
    form = FORMS[part]
    return tuple(range(form.first, form.last + (part != "day_of_week")))


def field_values(part: Part, text: str) -> tuple[int, ...]:
    """Return the values that a field names, in order.

    Raises:
        FieldProblem: It is none.
    """
    values: set[int] = set()
    for piece in text.strip().split(","):
        values |= _piece_values(part, piece)
    if part == "day_of_week":
        values = {value % 7 for value in values}
    return tuple(sorted(values))


def _piece_values(part: Part, piece: str) -> set[int]:
    form = FORMS[part]
    span, slash, written = piece.partition("/")
    step = _whole(part, piece, written) if slash else 1
    if step < 1:
        raise FieldProblem(part, piece)
    low, dash, high = span.partition("-")
    if span == "*":
        first, last = form.first, form.last
    else:
        first = _value(part, low)
        last = _value(part, high) if dash else (form.last if slash else first)
    if not form.first <= first <= last <= form.last:
        raise FieldProblem(part, piece)
    return set(range(first, last + 1, step))


def _value(part: Part, text: str) -> int:
    form = FORMS[part]
    lower = text.lower()
    if len(lower) >= form.letters:
        for number, name in enumerate(form.names, form.first_name):
            if name.startswith(lower):
                return number
    return _whole(part, text, text)


def _whole(part: Part, whole: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 4:
        raise FieldProblem(part, whole)
    return int(text)


def calendar_of(text_of: Callable[[Part], str | None], *, fill_clock: bool = False) -> Calendar:
    """Return the calendar of some fields.

    Args:
        text_of: Returns what a field says; None if it says nothing.
        fill_clock: Whether an hour, minute or second that is not said is every one, and not 0.

    Raises:
        FieldProblem: A field is none.
    """
    values: dict[Part, tuple[int, ...]] = {}
    for part in FORMS:
        text = text_of(part)
        if text is not None:
            values[part] = field_values(part, text)
        elif part in ("second", "minute", "hour") and not fill_clock:
            values[part] = (0,)
        else:
            values[part] = every(part)
    return Calendar(**values)
