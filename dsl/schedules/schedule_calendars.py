"""The calendars of a schedule as written."""

from coterie.dsl.model.sections.schedule_trigger import CalendarSection, ScheduleSection
from coterie.dsl.schedules.calendars import Calendar, Part, calendar_of
from coterie.dsl.schedules.cron import CronFields, read_cron


def section_calendar(section: CalendarSection, *, fill_clock: bool = False) -> Calendar:
    """Return the calendar of a section.

    Args:
        section: As written.
        fill_clock: Whether a part of the clock that is not given is every one, and not 0.

    Raises:
        FieldProblem: A part is none.
    """

    def text_of(part: Part) -> str | None:
        value: int | str | None = getattr(section, part)
        return None if value is None else str(value)

    return calendar_of(text_of, fill_clock=fill_clock)


def calendars_of(section: ScheduleSection) -> tuple[Calendar, ...]:
    """Return the calendars at whose times a checked schedule fires."""
    read = [read_cron(text) for text in section.crons]
    of_crons = [found.calendar for found in read if isinstance(found, CronFields)]
    return (*of_crons, *map(section_calendar, section.calendars))


def skipped_calendars(section: ScheduleSection) -> tuple[Calendar, ...]:
    """Return the calendars of what a checked schedule leaves out."""
    return tuple(section_calendar(one, fill_clock=True) for one in section.skipped)
