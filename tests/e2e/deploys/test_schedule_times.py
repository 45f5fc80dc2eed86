"""The times that `coterie validate` prints are those at which the real server fires."""

from datetime import UTC, datetime, timedelta
from itertools import takewhile
from uuid import uuid4

import pytest
from temporalio.api.workflowservice.v1 import ListScheduleMatchingTimesRequest
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleIntervalSpec,
    ScheduleSpec,
    ScheduleState,
)

from coterie.documents.schedule_times import fire_times, zone_of
from coterie.dsl.model.sections.schedule_trigger import ScheduleSection
from tests.support.project import Project

CRONS = (
    "0 * * * *",
    "30 2 * * *",
    "30 1 * * *",
    "*/15 2 * * *",
    "*/20 1-3 * * *",
    "0 2,3 * * *",
    "7/13 */5 1-7 * mon",
    "59 23 28-31 feb,mar *",
    "0 9 * * 5-7",
    "0 0 29 2 *",
    "@weekly",
    "30 30 3 * * * 2027",
)
NIGHTS = (
    ("Europe/Berlin", "2026-10-24T20:00"),
    ("Europe/Berlin", "2027-03-27T20:00"),
    ("America/New_York", "2026-10-31T20:00"),
    ("America/New_York", "2027-03-13T20:00"),
    ("Australia/Lord_Howe", "2027-04-02T20:00"),
    ("Europe/London", "2027-10-29T20:00"),
)
"""When clocks go back or forward, by an hour or by half of one, east and west."""


async def server_times(
    client: Client, spec: ScheduleSpec, begin: datetime, end: datetime
) -> list[datetime]:
    name = f"times-{uuid4()}"
    action = ScheduleActionStartWorkflow("None", id=name, task_queue="nobody")
    schedule = Schedule(action=action, spec=spec, state=ScheduleState(paused=True))
    handle = await client.create_schedule(name, schedule)
    request = ListScheduleMatchingTimesRequest(namespace=client.namespace, schedule_id=name)
    request.start_time.FromDatetime(begin)
    request.end_time.FromDatetime(end)
    found = await client.workflow_service.list_schedule_matching_times(request)
    await handle.delete()
    return [time.ToDatetime(UTC) for time in found.start_time]


def own_times(section: ScheduleSection, begin: datetime, end: datetime) -> list[datetime]:
    zone = zone_of(section.time_zone)
    assert zone is not None
    return list(takewhile(lambda time: time <= end, fire_times(section, zone, begin)))


@pytest.mark.parametrize(("zone", "evening"), NIGHTS)
async def test_times_are_those_of_the_server_in_every_night(
    desk: Project, zone: str, evening: str
) -> None:
    client = await desk.client()
    begin = datetime.fromisoformat(evening).replace(tzinfo=UTC)
    end = begin + timedelta(days=3)
    for cron in CRONS:
        spec = ScheduleSpec(cron_expressions=[cron], time_zone_name=zone)
        section = ScheduleSection(cron=cron, time_zone=zone)
        expected = await server_times(client, spec, begin, end)
        assert own_times(section, begin, end) == expected, cron


async def test_intervals_and_what_is_skipped_are_those_of_the_server(desk: Project) -> None:
    client = await desk.client()
    begin = datetime(2026, 12, 23, tzinfo=UTC)
    end = begin + timedelta(days=4)
    every, offset = timedelta(hours=7), timedelta(minutes=90)
    spec = ScheduleSpec(
        intervals=[ScheduleIntervalSpec(every=every, offset=offset)],
        cron_expressions=["0 6 * * *"],
    )
    section = ScheduleSection(every=every.total_seconds(), offset=5400, cron="0 6 * * *")
    assert own_times(section, begin, end) == await server_times(client, spec, begin, end)
