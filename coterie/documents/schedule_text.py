"""The next times of schedules for people."""

from collections.abc import Iterator
from datetime import datetime

from coterie.documents.schedule_times import first_times, zone_of
from coterie.dsl.compile.compiler import Compiled
from coterie.dsl.model.sections.schedule_trigger import ScheduleSection
from coterie.text.durations import duration

NEXT_TIMES = 10


def next_times(section: ScheduleSection, now: datetime, number: int = NEXT_TIMES) -> Iterator[str]:
    """Yield the next times of a schedule, in its zone."""
    zone = zone_of(section.time_zone)
    if zone is None:
        return
    for moment in first_times(section, zone, now, number):
        yield f"{moment.astimezone(zone):%a %Y-%m-%d %H:%M:%S %Z}"


def times_in_words(section: ScheduleSection) -> str:
    """Return what a schedule says, in one line: `0 2 * * * in Europe/Berlin`."""
    parts = [*section.crons]
    for calendar in section.calendars:
        said = calendar.model_dump(exclude_none=True)
        parts.append(" ".join(f"{key}={value}" for key, value in said.items()) or "00:00:00")
    if section.every is not None:
        parts.append(f"every {duration(section.every)}")
    if section.offset:
        parts.append(f"offset {duration(section.offset)}")
    return f"{'; '.join(parts)} in {section.time_zone}"


def schedule_lines(compiled: Compiled, now: datetime) -> Iterator[str]:
    """Yield the next times of all schedules of a document."""
    for name, trigger in compiled.triggers.items():
        if trigger.schedule is not None:
            times = list(next_times(trigger.schedule, now))
            yield f"{name}: {times_in_words(trigger.schedule)}{', next' if times else ''}"
            yield from (f"    {moment}" for moment in times)
