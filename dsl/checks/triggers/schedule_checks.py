"""Checks of schedules: what their times say, and how Temporal's cron differs from others."""

from coterie.dsl.checks.triggers.trigger_scope import TriggerScope
from coterie.dsl.model.sections.schedule_trigger import CalendarSection, ScheduleSection
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.schedules.calendars import FORMS, FieldProblem, Part
from coterie.dsl.schedules.cron import SHORT_FORMS, CronFields, read_cron
from coterie.dsl.schedules.schedule_calendars import section_calendar
from coterie.dsl.values import NodePath

_NAMES = {"day_of_week": " or sun to sat", "month": " or jan to dec"}


@rule("E112")
def cron_form(text: str) -> ProblemText:
    return ProblemText(
        f"{text!r} is no cron: it has {len(text.split())} fields",
        "minute hour day-of-month month day-of-week, or " + ", ".join(SHORT_FORMS),
        "write five fields, such as `0 2 * * *`; an interval is `every`, a zone is `time_zone`",
    )


@rule("E112")
def cron_comment(text: str) -> ProblemText:
    return ProblemText(
        f"in Temporal's cron a comment begins with '#', so {text!r} would not mean the n-th day "
        "of a month: it fires in every week",
        fix="for the second Monday write `calendar: { day_of_week: mon, day_of_month: 8-14 }`",
    )


@rule("E112")
def calendar_field(part: str, text: str) -> ProblemText:
    form = FORMS[part]  # pyright: ignore[reportArgumentType]
    return ProblemText(
        f"{text!r} is no {part.replace('_', ' ')} of a schedule",
        f"{form.first} to {form.last}{_NAMES.get(part, '')}: `*`, `5`, `1,15`, `9-17`, `*/10`",
    )


@rule("W533")
def both_days(text: str) -> ProblemText:
    return ProblemText(
        f"{text!r} names days of the month and days of the week: Temporal fires on days that are "
        "both, where other crons fire on days that are either",
        fix="leave one of them at `*`; if you mean both, write it as `calendar`",
    )


@rule("W533")
def sixth_is_year(text: str) -> ProblemText:
    return ProblemText(
        f"{text!r} has six fields: the first is the minute and the sixth is the year, not a second "
        "in front",
        fix="leave out the seconds; if you mean the year, write it as `calendar`",
    )


def check_schedule(scope: TriggerScope, section: ScheduleSection, path: NodePath) -> None:
    """Note every problem of a schedule that does not depend on the time of day or zones."""
    is_list = not isinstance(section.cron, str)
    for number, text in enumerate(section.crons):
        here = (*path, "cron", number) if is_list else (*path, "cron")
        _check_cron(scope, text, here)
    for key, sections, value in (
        ("calendar", section.calendars, section.calendar),
        ("skip", section.skipped, section.skip),
    ):
        for number, calendar in enumerate(sections):
            single = isinstance(value, CalendarSection)
            _check_calendar(scope, calendar, (*path, key) if single else (*path, key, number))
    scope.check_given(section.context, (*path, "context"))


def _check_cron(scope: TriggerScope, text: str, path: NodePath) -> None:
    place = scope.tree.value_at(path)
    match read_cron(text):
        case None if "#" in text:
            scope.problems.report(cron_comment(text), place)
        case None:
            scope.problems.report(cron_form(text), place)
        case FieldProblem(part=part, text=wrong):
            scope.problems.report(calendar_field(part, wrong), place)
        case CronFields(calendar, fields):
            if calendar.restricts_days:
                scope.problems.report(both_days(text), place)
            if fields == 6:
                scope.problems.report(sixth_is_year(text), place)


def _check_calendar(scope: TriggerScope, section: CalendarSection, path: NodePath) -> None:
    try:
        section_calendar(section)
    except FieldProblem as problem:
        part: Part = problem.part
        details = calendar_field(part, problem.text)
        scope.problems.report(details, scope.tree.value_at((*path, part)))
