"""Schedules of documents: what is refused, and what is told of Temporal's cron."""

import pytest

from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.schedules.calendars import FieldProblem, field_values
from coterie.dsl.schedules.cron import CronFields, read_cron
from tests.support.engine import CAPABILITIES

TEAM = """
orchestration:
  entry_team: only
  context: {weight: {type: number}}
  teams: {only: {tasks: [{name: mark, type: set, values: {a: "{{ context.weight }}"}}]}}
triggers:
  night:
    schedule: { context: {weight: 1}, %s }
"""


def problems(schedule: str) -> list[tuple[str, str]]:
    """The codes of a document with this schedule, and where they stand."""
    try:
        compiled = compile_sources([SourceText("t.yml", TEAM % schedule)], CAPABILITIES, name="t")
    except InvalidDocument as error:
        found = error.problems
    else:
        found = compiled.warnings
    prefix = "triggers.night."
    return [(problem.code, problem.path.removeprefix(prefix)) for problem in found]


@pytest.mark.parametrize(
    "schedule",
    [
        "cron: '0 2 * * *'",
        "cron: ['0 2 * * *', '@daily']",
        "cron: '0 0 2 * * * 2027'",
        "calendar: {hour: 9-17, minute: '*/30', day_of_week: mon-fri, day_of_month: 1-7}",
        "calendar: [{hour: 3}, {hour: 4, year: 2027}], skip: {month: dec}",
        "every: 6h, offset: 90m, overlap: buffer_one, catch_up: 1h, jitter: 5m, paused: true",
    ],
)
def test_sound_schedules_have_no_problem(schedule: str) -> None:
    assert problems(schedule) == []


@pytest.mark.parametrize(
    ("schedule", "code", "path"),
    [
        ("cron: '0 9 * * 1#2'", "E112", "schedule.cron"),
        ("cron: ['0 9 * * *', '0 9 * *']", "E112", "schedule.cron[1]"),
        ("cron: '0 25 * * *'", "E112", "schedule.cron"),
        ("cron: '0 9 L * *'", "E112", "schedule.cron"),
        ("cron: '@every 1h'", "E112", "schedule.cron"),
        ("cron: 'CRON_TZ=UTC 0 9 * * *'", "E112", "schedule.cron"),
        ("cron: '0 9 * * fri-mon'", "E112", "schedule.cron"),
        ("cron: '*/0 * * * *'", "E112", "schedule.cron"),
        ("cron: '0 9 * * 1-5-7'", "E112", "schedule.cron"),
        ("cron: '٣ 9 * * *'", "E112", "schedule.cron"),
        ("calendar: {hour: 24}", "E112", "schedule.calendar.hour"),
        ("calendar: [{hour: 1}, {day_of_week: fun}]", "E112", "schedule.calendar[1].day_of_week"),
        ("every: 6h, skip: {minute: 99}", "E112", "schedule.skip.minute"),
        ("cron: '0 9 1 * mon'", "W533", "schedule.cron"),
        ("cron: '0 0 12 * * *'", "W533", "schedule.cron"),
        ("every: 6h, offset: 7h", "E103", "schedule"),
        ("overlap: skip", "E103", "schedule"),
        ("every: 0.1", "E106", "schedule.every"),
        ("every: 6h, overlap: wait", "E105", "schedule.overlap"),
        ("every: 6h, catch_up: 1s", "E106", "schedule.catch_up"),
        ("every: 6h, cron: '{{ 1 }}'", "E303", "schedule.cron"),
    ],
)
def test_what_temporal_would_read_otherwise_or_not_at_all_is_told(
    schedule: str, code: str, path: str
) -> None:
    assert (code, path) in problems(schedule)


@pytest.mark.parametrize(
    ("context", "code"),
    [("{}", "E102"), ("{weight: heavy}", "E405"), ("{weight: '{{ 1 }}'}", "E303")],
)
def test_the_context_is_checked_and_never_rendered(context: str, code: str) -> None:
    text = TEAM.replace("{weight: 1}", context) % "every: 6h"
    with pytest.raises(InvalidDocument) as caught:
        compile_sources([SourceText("t.yml", text)], CAPABILITIES, name="t")
    assert code in [problem.code for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("*/20", (0, 20, 40)),
        ("50/5", (50, 55)),
        ("1-5/2,8", (1, 3, 5, 8)),
        ("7", (7,)),
        ("5,5,4", (4, 5)),
    ],
)
def test_a_field_has_its_values(text: str, values: tuple[int, ...]) -> None:
    assert field_values("minute", text) == values


@pytest.mark.parametrize(
    ("text", "days"),
    [("7", (0,)), ("5-7", (0, 5, 6)), ("su", (0,)), ("Monday", (1,)), ("mon-fri/2", (1, 3, 5))],
)
def test_sunday_is_both_0_and_7_and_names_count(text: str, days: tuple[int, ...]) -> None:
    assert field_values("day_of_week", text) == days


@pytest.mark.parametrize(
    "text", ["", ",", "-", "1-", "/2", "*-3", "1//2", "99999", "m", "+1", "1 2"]
)
def test_no_other_text_is_a_field(text: str) -> None:
    with pytest.raises(FieldProblem):
        field_values("day_of_week", text)


def test_of_seven_fields_the_first_is_the_second() -> None:
    read = read_cron("5 10 2 * * * 2027")
    assert isinstance(read, CronFields)
    calendar = read.calendar
    assert (calendar.second, calendar.minute, calendar.hour) == ((5,), (10,), (2,))
    assert calendar.year == (2027,)
