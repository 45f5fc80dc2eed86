"""A real server with a worker of ours and one of others, for all tests of calls on Temporal."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import pytest_asyncio
from temporalio.client import WorkflowFailureError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Replayer

from coterie.storage.wire import data_converter
from coterie.workflows.core.causes.step_causes import Failed
from coterie.workflows.team import TeamWorkflow
from tests.support.engine import Engine, engine, trail
from tests.support.others.foreign_worker import ForeignActivities, create_endpoint, foreign_worker
from tests.support.others.temporal_plans import on_temporal, plan_calling
from tests.support.servers.temporal_server import dev_server
from tests.support.watching.prepared_sandbox import prepared_sandbox


class World(NamedTuple):
    """A worker of ours and one of others."""

    ours: Engine
    theirs: ForeignActivities
    env: WorkflowEnvironment

    async def run(self, tool: str, arguments: dict[str, Any], **task: Any) -> Any:
        """What one call returns; or its failure."""
        written = {"name": "call", "tool": tool, "arguments": "{{ context.given }}", **task}
        plan = plan_calling([written])
        return await self.end(await self.ours.start(plan, {"given": arguments}))

    async def end(self, handle: Any) -> Any:
        """What the step `call` came to. The history replays."""
        try:
            result = await asyncio.wait_for(handle.result(), 40)
        except WorkflowFailureError:
            result = None
        await replay(handle)
        if result is not None:
            return result["output"]["call"]
        (failed,) = [entry for entry in await trail(handle) if isinstance(entry.cause, Failed)]
        assert isinstance(failed.cause, Failed)
        return failed.cause.failure.type, failed.because


async def replay(handle: Any) -> None:
    replayer = Replayer(
        workflows=[TeamWorkflow],
        data_converter=data_converter,
        workflow_runner=prepared_sandbox(),
        build_id="test",
    )
    await replayer.replay_workflow(await handle.fetch_history())


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[World]:
    folder: Path = tmp_path_factory.mktemp("on_temporal")
    async with dev_server() as env:
        address = env.client.service_client.config.target_host
        await create_endpoint(env.client)
        async with (
            foreign_worker(address) as theirs,
            engine(env, folder, [], on_temporal=on_temporal()) as ours,
        ):
            yield World(ours, theirs, env)
