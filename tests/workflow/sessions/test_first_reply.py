"""The first reply of a session takes one call of the client to the server."""

from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from temporalio.client import Client
from temporalio.runtime import MetricBuffer, Runtime, TelemetryConfig
from temporalio.testing import WorkflowEnvironment

from coterie.runs.run_client import Run
from coterie.runs.sessions import open_session, send_message
from coterie.storage.wire import data_converter
from coterie.workflows.core.messages import SessionInput, TeamInput
from tests.support.engine import engine, plan_of
from tests.support.servers.temporal_server import suggesting_after
from tests.workflow.sessions.test_sessions import ECHO

_REQUESTS = ("temporal_request", "temporal_long_request")


@pytest.fixture(scope="module")
async def server() -> AsyncGenerator[WorkflowEnvironment]:
    async with suggesting_after(4096) as made:
        yield made


class CountingClient:
    """A client whose calls to the server are counted by Temporal's own core, with its retries."""

    def __init__(self) -> None:
        self._metrics = MetricBuffer(10_000)
        self._runtime = Runtime(telemetry=TelemetryConfig(metrics=self._metrics))

    async def connected(self, address: str) -> Client:
        return await Client.connect(
            address, data_converter=data_converter, runtime=self._runtime, identity="counted"
        )

    def calls(self) -> Counter[str]:
        """The calls since the last look, by name."""
        found: Counter[str] = Counter()
        for update in self._metrics.retrieve_updates():
            if update.metric.name in _REQUESTS:
                found[str(update.attributes["operation"])] += int(update.value)
        return found


async def test_the_first_reply_comes_with_the_call_that_starts_the_session(
    server: WorkflowEnvironment, tmp_path: Path
) -> None:
    counting = CountingClient()
    client = await counting.connected(server.client.service_client.config.target_host)
    async with engine(server, tmp_path, []) as running:
        counting.calls()
        reply = await open_session(
            client,
            "counted",
            TeamInput(plan=plan_of(ECHO)),
            SessionInput(message="hello"),
            "first",
            task_queue=running.queue,
            summary="test",
        )
        assert reply == "hello!"
        assert counting.calls() == {"ExecuteMultiOperation": 1}
        again = await send_message(Run(client, "counted"), SessionInput(message="again"), "second")
        assert again == "again!"
        assert counting.calls() == {"UpdateWorkflowExecution": 1}
        await running.client.get_workflow_handle("counted").terminate()
