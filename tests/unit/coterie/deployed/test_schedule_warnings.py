"""What `coterie validate` says of schedules that depend on zones and on the date."""

from datetime import UTC, datetime

import pytest

from coterie.documents.schedule_text import schedule_lines
from coterie.documents.schedule_times import first_times, zone_of
from coterie.documents.schedule_warnings import schedule_problems
from coterie.dsl.compile.compiler import Compiled, SourceText, compile_sources
from coterie.dsl.model.sections.schedule_trigger import CalendarSection, ScheduleSection
from tests.support.engine import CAPABILITIES

NOW = datetime(2026, 11, 29, 9, tzinfo=UTC)
TEAM = """
orchestration:
  entry_team: only
  teams: {only: {tasks: [{name: mark, type: set, values: {a: 1}}]}}
triggers:
  night:
    schedule: { %s }
"""


def compiled(schedule: str) -> Compiled:
    return compile_sources([SourceText("team.yml", TEAM % schedule)], CAPABILITIES, name="team")


def said(schedule: str) -> list[tuple[str, str]]:
    found = schedule_problems(compiled(schedule), NOW)
    return [(problem.code, problem.message) for problem in found]


@pytest.mark.parametrize(
    "schedule",
    [
        "cron: '30 4 * * *', time_zone: Europe/Berlin",
        "cron: '30 2 * * *'",
        "cron: '0 * * * *', time_zone: America/New_York",
        "cron: '30 2 1-7 dec *', time_zone: Europe/Berlin",
        "every: 6h, time_zone: Europe/Berlin",
        "cron: '30 2 * * *', time_zone: Asia/Tokyo",
    ],
)
def test_ordinary_schedules_are_not_warned_of(schedule: str) -> None:
    assert said(schedule) == []


@pytest.mark.parametrize(
    ("schedule", "told"),
    [
        (
            "cron: '30 2 * * *', time_zone: Europe/Berlin",
            ["on 2027-03-28 clocks in Europe/Berlin go forward, and 02:00 to 03:00 does not "
             "exist: between midnight and 6:00 it does not fire"],
        ),
        (
            "cron: '0 * * * *', time_zone: Europe/Berlin",
            ["on 2027-10-31 clocks in Europe/Berlin go back, and 02:00 to 03:00 comes twice: "
             "between midnight and 6:00 it fires at 00:00 CEST, 01:00 CEST, 02:00 CEST, "
             "03:00 CET, 04:00 CET, and 1 more"],
        ),
        (
            "calendar: {hour: 1, minute: 30}, time_zone: America/New_York",
            ["on 2027-11-07 clocks in America/New_York go back, and 01:00 to 02:00 comes twice: "
             "between midnight and 6:00 it fires at 01:30 EDT, 01:30 EST"],
        ),
        (
            "cron: '*/15 2 * * *', time_zone: Europe/Berlin",
            ["on 2027-03-28 clocks in Europe/Berlin go forward, and 02:00 to 03:00 does not "
             "exist: between midnight and 6:00 it does not fire",
             "on 2027-10-31 clocks in Europe/Berlin go back, and 02:00 to 03:00 comes twice: "
             "between midnight and 6:00 it fires at 02:00 CET, 03:15 CET"],
        ),
    ],
)  # fmt: skip
def test_the_nights_of_clock_changes_are_told(schedule: str, told: list[str]) -> None:
    assert said(schedule) == [("W535", text) for text in told]


@pytest.mark.parametrize(
    "schedule",
    ["cron: '0 9 30 2 *'", "cron: '0 9 1 1 * 2020'", "every: 1d, skip: {hour: '*'}"],
)
def test_a_schedule_that_never_fires_is_told(schedule: str) -> None:
    assert said(schedule) == [("W534", "this schedule never fires from now on")]
    assert list(schedule_lines(compiled(schedule), NOW))[1:] == []


@pytest.mark.parametrize("zone", ["Mars/Base", "CET+1", "../../etc/passwd", "/etc/localtime"])
def test_a_zone_that_does_not_exist_is_an_error(zone: str) -> None:
    [(code, message)] = said(f'cron: "0 9 * * *", time_zone: "{zone}"')
    assert code == "E112"
    assert message.startswith("there is no time zone")


def test_the_next_times_are_told_in_the_zone() -> None:
    lines = list(schedule_lines(compiled("cron: '0 9 * * mon', time_zone: Europe/Berlin"), NOW))
    assert lines[0] == "night: 0 9 * * mon in Europe/Berlin, next"
    assert lines[1] == "    Mon 2026-11-30 09:00:00 CET"
    assert len(lines) == 11


def test_a_skipped_day_is_skipped_as_a_whole() -> None:
    skip = CalendarSection(month="dec", day_of_month="24-26")
    section = ScheduleSection(cron="0 9,17 * * *", skip=skip)
    zone = zone_of("UTC")
    assert zone is not None
    times = first_times(section, zone, datetime(2026, 12, 23, 12, tzinfo=UTC), 3)
    assert [f"{one:%d %H}" for one in times] == ["23 17", "27 09", "27 17"]
