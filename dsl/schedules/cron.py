"""Read cron as Temporal does: of six fields the last is the year, of seven the first the second."""

from typing import NamedTuple

from coterie.dsl.schedules.calendars import Calendar, FieldProblem, Part, calendar_of

_FIVE: tuple[Part, ...] = ("minute", "hour", "day_of_month", "month", "day_of_week")
_FIELDS: dict[int, tuple[Part, ...]] = {
    5: _FIVE,
    6: (*_FIVE, "year"),
    7: ("second", *_FIVE, "year"),
}
_SHORT = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
SHORT_FORMS = tuple(_SHORT)


class CronFields(NamedTuple):
    """A cron that can be read."""

    calendar: Calendar
    fields: int


def read_cron(text: str) -> CronFields | FieldProblem | None:
    """Return the calendar of a cron; its first wrong field; or None if it has no such form."""
    words = _SHORT.get(text.strip(), text).split()
    parts = _FIELDS.get(len(words))
    if parts is None or "#" in text or "=" in text:
        return None
    said = dict(zip(parts, words, strict=True))
    try:
        return CronFields(calendar_of(said.get), len(words))
    except FieldProblem as problem:
        return problem
