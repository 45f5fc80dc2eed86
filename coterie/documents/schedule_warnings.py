"""What depends on time zones and on the date: schedules that never fire, nights with odd clocks."""

from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from coterie.documents.schedule_times import fire_times, zone_of
from coterie.dsl.compile.compiler import Compiled
from coterie.dsl.errors import Problem
from coterie.dsl.model.sections.schedule_trigger import ScheduleSection
from coterie.dsl.problem_details import Details, ProblemText, rule
from coterie.dsl.schedules.calendars import Calendar
from coterie.dsl.schedules.schedule_calendars import calendars_of
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.values import NodePath

_HOUR = timedelta(hours=1)
_DAYS_AHEAD = 400
_MAX_TIMES = 5


@rule("E112")
def unknown_zone(name: str) -> ProblemText:
    return ProblemText(
        f"there is no time zone {name!r}",
        "names of the IANA database, such as Europe/Berlin, America/New_York, UTC",
        "write such a name; abbreviations and offsets like CET and +02:00 are none",
    )


@rule("W534")
def never_fires() -> ProblemText:
    return ProblemText(
        "this schedule never fires from now on",
        fix="look at its days and years: no month has what they ask for together, or it has passed",
    )


@rule("W535")
def gap_in_spring(zone: str, day: str, gone: str, fires: str) -> ProblemText:
    return ProblemText(
        f"on {day} clocks in {zone} go forward, and {gone} does not exist: "
        f"between midnight and 6:00 it {fires}",
        fix="choose a time before or after the gap, or `time_zone: UTC`",
    )


@rule("W535")
def overlap_in_autumn(zone: str, day: str, twice: str, fires: str) -> ProblemText:
    return ProblemText(
        f"on {day} clocks in {zone} go back, and {twice} comes twice: between midnight and 6:00 "
        f"it {fires}",
        fix="choose a time outside of that hour, or `time_zone: UTC`",
    )


def schedule_problems(compiled: Compiled, now: datetime) -> tuple[Problem, ...]:
    """Return what is wrong or odd with the schedules of a document, from now on."""
    problems = Problems()
    for name, trigger in compiled.triggers.items():
        if trigger.schedule is not None:
            path = ("triggers", name, "schedule")
            _check(trigger.schedule, compiled, path, problems, now)
    return (*problems.errors, *problems.warnings)


def _check(
    section: ScheduleSection,
    compiled: Compiled,
    path: NodePath,
    problems: Problems,
    now: datetime,
) -> None:
    zone = zone_of(section.time_zone)
    tree = compiled.tree
    if zone is None:
        place = tree.value_at((*path, "time_zone"))
        problems.report(unknown_zone(section.time_zone), place)
        return
    first = next(fire_times(section, zone, now), None)
    if first is None:
        problems.report(never_fires(), tree.key_at(path))
        return
    calendars = calendars_of(section)
    for shift in clock_changes(zone, now):
        hours = shift.hours
        touched = [one for one in calendars if hours & set(one.hour) and _has_day(one, shift)]
        if touched and not _is_even(section, zone, shift, touched):
            key = "cron" if section.cron is not None else "calendar"
            problems.report(_words(section, zone, shift), tree.value_at((*path, key)))


class ClockChange(NamedTuple):
    """A moment at which clocks of a zone change."""

    at: datetime
    """The first moment with the new offset."""
    before: datetime
    """The local time that the old offset gives for it, without a zone."""
    after: datetime
    """The local time of the new offset, without a zone."""

    @property
    def is_gap(self) -> bool:
        """Whether clocks go forward."""
        return self.after > self.before

    @property
    def span(self) -> tuple[datetime, datetime]:
        """The local times that never are, or are twice."""
        first, last = sorted((self.before, self.after))
        return first, last

    @property
    def hours(self) -> set[int]:
        """The hours of the span."""
        first, last = self.span
        count = int((last - first - timedelta(seconds=1)) / _HOUR) + 1
        return {(first + number * _HOUR).hour for number in range(count)}


def clock_changes(zone: ZoneInfo, now: datetime) -> Iterator[ClockChange]:
    """Yield the first change forward and the first change back within the next year."""
    seen: set[bool] = set()
    hour = now.replace(minute=0, second=0, microsecond=0)
    for _ in range(_DAYS_AHEAD):
        following = hour + timedelta(days=1)
        if hour.astimezone(zone).utcoffset() != following.astimezone(zone).utcoffset():
            change = _change_between(zone, hour, following)
            if change.is_gap not in seen:
                seen.add(change.is_gap)
                yield change
        hour = following


def _change_between(zone: ZoneInfo, first: datetime, last: datetime) -> ClockChange:
    while last - first > timedelta(seconds=1):
        middle = first + (last - first) / 2
        middle = middle.replace(microsecond=0)
        is_before = middle.astimezone(zone).utcoffset() == first.astimezone(zone).utcoffset()
        first, last = (middle, last) if is_before else (first, middle)
    old = first.astimezone(zone).utcoffset() or timedelta()
    before = (last + old).replace(tzinfo=None)
    return ClockChange(last, before, last.astimezone(zone).replace(tzinfo=None))


def _has_day(calendar: Calendar, shift: ClockChange) -> bool:
    day = shift.span[0].date()
    return (
        day.year in calendar.year
        and day.month in calendar.month
        and day.day in calendar.day_of_month
        and day.isoweekday() % 7 in calendar.day_of_week
    )


def _is_even(
    section: ScheduleSection, zone: ZoneInfo, shift: ClockChange, touched: list[Calendar]
) -> bool:
    """Return whether each written time fires once, or once in each hour if it is of every hour."""
    if shift.is_gap:
        return all(_is_hourly(calendar) for calendar in touched)
    first, last = shift.span
    length = last - first
    fires = sum(
        1
        for moment in _fires(section, zone, shift.at - length, shift.at + length)
        if shift.at - length <= moment < shift.at + length
    )
    wanted = sum(_written_times(calendar, first, last) for calendar in touched)
    return fires == wanted


def _written_times(calendar: Calendar, first: datetime, last: datetime) -> int:
    minutes = int((last - first).total_seconds()) // 60
    walls = [first + timedelta(minutes=number) for number in range(minutes)]
    times = [one for one in walls if one.hour in calendar.hour and one.minute in calendar.minute]
    return len(times) * len(calendar.second) * (2 if _is_hourly(calendar) else 1)


def _is_hourly(calendar: Calendar) -> bool:
    return len(calendar.hour) == 24


def _fires(
    section: ScheduleSection, zone: ZoneInfo, first: datetime, last: datetime
) -> Iterator[datetime]:
    for moment in fire_times(section, zone, first - timedelta(seconds=1)):
        if moment > last:
            return
        yield moment


def _words(section: ScheduleSection, zone: ZoneInfo, shift: ClockChange) -> Details:
    first, last = shift.span
    day = first.date()
    midnight = datetime.combine(day, time(), zone).astimezone(UTC)
    night = [
        moment.astimezone(zone)
        for moment in _fires(section, zone, midnight, midnight + timedelta(hours=7))
        if moment.astimezone(zone).date() == day and moment.astimezone(zone).hour < 6
    ]
    shown = [f"{moment:%H:%M} {moment:%Z}" for moment in night[:_MAX_TIMES]]
    more = f", and {len(night) - _MAX_TIMES} more" if len(night) > _MAX_TIMES else ""
    fires = f"fires at {', '.join(shown)}{more}" if shown else "does not fire"
    span = f"{first:%H:%M} to {last:%H:%M}"
    rule_of = gap_in_spring if shift.is_gap else overlap_in_autumn
    return rule_of(section.time_zone, day.isoformat(), span, fires)
