"""The times at which Temporal's server fires a schedule, without the server.

Clocks that go forward or back make the difference between schedulers, so this follows what the
server answers, odd nights included; tests compare both.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from coterie.dsl.model.sections.schedule_trigger import ScheduleSection
from coterie.dsl.schedules.calendars import LAST_YEAR, Calendar
from coterie.dsl.schedules.schedule_calendars import calendars_of, skipped_calendars

_HOUR = timedelta(hours=1)
_SECOND = timedelta(seconds=1)
_MAX_SKIPPED = 10_000
"""Times that a schedule may leave out one after the other."""


def zone_of(name: str) -> ZoneInfo | None:
    """Return a time zone; None if there is none of this name."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def instant(local: datetime, zone: ZoneInfo) -> datetime:
    """Return the moment that the server takes for a local time that exists never or twice.

    It guesses the offset from the same time read as UTC, and corrects the guess once.
    """
    naive = local.replace(tzinfo=UTC)
    offset = _offset(naive, zone)
    if not offset:
        return naive
    found = naive - offset
    return naive - _offset(found, zone)


def _offset(moment: datetime, zone: ZoneInfo) -> timedelta:
    return moment.astimezone(zone).utcoffset() or timedelta()


class _Hour(NamedTuple):
    """An hour of a local day, and how much later its times fire."""

    begins: datetime
    delay: timedelta


def next_of_calendar(calendar: Calendar, zone: ZoneInfo, after: datetime) -> datetime | None:
    """Return the next moment at which a calendar fires; None if there is none."""
    local = after.astimezone(zone).replace(tzinfo=None, microsecond=0)
    is_second = (after - _HOUR).astimezone(zone).hour == local.hour
    for hour in _hours(calendar, zone, local, is_second=is_second):
        for minute in calendar.minute:
            for second in calendar.second:
                wall = hour.begins.replace(minute=minute, second=second)
                is_past = wall <= local and not (hour.delay and not is_second)
                if is_past:
                    continue
                moment = instant(wall, zone)
                if moment.astimezone(zone).hour != wall.hour:
                    break  # the clock went over this hour
                return moment + hour.delay
            else:
                continue
            break
    return None


def _hours(
    calendar: Calendar, zone: ZoneInfo, local: datetime, *, is_second: bool
) -> Iterator[_Hour]:
    """Yield the hours of a calendar that are not over, those that come twice as two."""
    for day in _days(calendar, local.date()):
        for number in calendar.hour:
            begins = datetime.combine(day, time(number))
            if begins + _HOUR <= local:
                continue
            is_now = begins <= local
            if not (is_now and is_second):
                yield _Hour(begins, timedelta())
                if not _comes_twice(begins, zone):
                    continue
            yield _Hour(begins, _HOUR)


def _comes_twice(begins: datetime, zone: ZoneInfo) -> bool:
    return instant(begins + _HOUR, zone) - instant(begins, zone) > _HOUR


def _days(calendar: Calendar, first: date) -> Iterator[date]:
    months, days = set(calendar.month), set(calendar.day_of_month)
    weekdays = set(calendar.day_of_week)
    for year in calendar.year:
        if year < first.year:
            continue
        day = max(first, date(year, 1, 1))
        while day.year == year:
            if day.month not in months:
                day = _next_month(day)
            elif day.day in days and day.isoweekday() % 7 in weekdays:
                yield day
                day += timedelta(days=1)
            else:
                day += timedelta(days=1)


def _next_month(day: date) -> date:
    return date(day.year + day.month // 12, day.month % 12 + 1, 1)


def is_of_calendar(calendar: Calendar, zone: ZoneInfo, moment: datetime) -> bool:
    """Return whether a calendar has a moment."""
    local = moment.astimezone(zone)
    return (
        local.year in calendar.year
        and local.month in calendar.month
        and local.day in calendar.day_of_month
        and local.isoweekday() % 7 in calendar.day_of_week
        and local.hour in calendar.hour
        and local.minute in calendar.minute
        and local.second in calendar.second
    )


def fire_times(section: ScheduleSection, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    """Yield the moments at which a checked schedule fires, without its jitter."""
    calendars, skipped = calendars_of(section), skipped_calendars(section)
    left_out = 0
    while left_out < _MAX_SKIPPED:
        moments = list(_next_moments(section, calendars, zone, after))
        if not moments:
            return
        after = min(moments)
        if any(is_of_calendar(calendar, zone, after) for calendar in skipped):
            left_out += 1
            continue
        left_out = 0
        yield after


def _next_moments(
    section: ScheduleSection, calendars: Sequence[Calendar], zone: ZoneInfo, after: datetime
) -> Iterator[datetime]:
    for calendar in calendars:
        moment = next_of_calendar(calendar, zone, after)
        if moment is not None:
            yield moment
    if section.every is not None:
        every, offset = int(section.every), int(section.offset or 0)
        count = (int(after.timestamp()) - offset) // every + 1
        moment = datetime.fromtimestamp(count * every + offset, UTC)
        if moment.year <= LAST_YEAR:
            yield moment


def first_times(
    section: ScheduleSection, zone: ZoneInfo, after: datetime, number: int
) -> list[datetime]:
    """Return the next moments at which a checked schedule fires."""
    return list(islice(fire_times(section, zone, after), number))
