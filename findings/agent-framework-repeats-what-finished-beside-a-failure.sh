#!/usr/bin/env bash
# Two executors run at once and one fails: resumed from the last checkpoint, the one that had finished runs again.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check agent-framework-core==1.23.0
cat >"$folder/graph.py" <<'PYTHON'
import asyncio
from importlib.metadata import version

from agent_framework import (
    Executor,
    InMemoryCheckpointStorage,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    handler,
)

calls = []
broken = True


class Begin(Executor):
    @handler
    async def run(self, order: str, context: WorkflowContext[str]) -> None:
        await context.send_message(order)


class Pay(Executor):
    @handler
    async def run(self, order: str, context: WorkflowContext[str]) -> None:
        calls.append("pay")
        await context.send_message("paid")


class Pack(Executor):
    @handler
    async def run(self, order: str, context: WorkflowContext[str]) -> None:
        await asyncio.sleep(0.1)
        calls.append("pack")
        if broken:
            raise RuntimeError("no box")
        await context.send_message("packed")


class End(Executor):
    @handler
    async def run(self, parts: list[str], context: WorkflowContext[None, str]) -> None:
        await context.yield_output(" and ".join(sorted(parts)))


def shop(storage: InMemoryCheckpointStorage) -> Workflow:
    begin, pay, pack, end = Begin(id="begin"), Pay(id="pay"), Pack(id="pack"), End(id="end")
    builder = WorkflowBuilder(start_executor=begin, checkpoint_storage=storage, name="shop")
    return builder.add_fan_out_edges(begin, [pay, pack]).add_fan_in_edges([pay, pack], end).build()


async def main() -> None:
    global broken
    storage = InMemoryCheckpointStorage()
    try:
        await shop(storage).run("order-1")
    except RuntimeError:
        calls.append("failed")
    broken = False
    last = (await storage.list_checkpoints(workflow_name="shop"))[-1]
    end = (await shop(storage).run(checkpoint_id=last.checkpoint_id)).get_outputs()
    print("agent-framework-core", version("agent-framework-core"), calls, end)
    assert end == ["packed and paid"]
    assert calls == ["pay", "pack", "failed", "pay", "pack"]


asyncio.run(main())
PYTHON
"$folder/venv/bin/python" "$folder/graph.py"
