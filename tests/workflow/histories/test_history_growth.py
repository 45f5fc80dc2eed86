"""A team's history grows by no more than that of the same loop written by hand (bench/)."""

import json
from pathlib import Path

from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from bench import loop
from bench.systems import COTERIE, HANDWRITTEN, System
from bench.worker import worker

FEW, MANY = 3, 9


async def history(
    env: WorkflowEnvironment, folder: Path, system: System, n: int
) -> list[HistoryEvent]:
    """What a run of n steps leaves behind."""
    script = folder / "answers.json"
    script.write_text(json.dumps(loop.SCRIPT))
    address = env.client.service_client.config.target_host
    client = await Client.connect(address, data_converter=system.converter)
    queue = f"growth-{system.worker[:4]}"  # equally long: the name stands in histories
    async with worker(system.worker, address, queue, script):
        handle = await client.start_workflow(
            system.workflow,
            system.given(n),
            id=f"growth-{system.name}-{n}",
            task_queue=queue,
        )
        await handle.result()
        return list((await handle.fetch_history()).events)


async def test_a_step_writes_exactly_the_events_of_a_step_by_hand(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    for n in (FEW, MANY):
        ours = await history(env, tmp_path, COTERIE, n)
        theirs = await history(env, tmp_path, HANDWRITTEN, n)
        assert [event.event_type for event in ours] == [event.event_type for event in theirs]
        assert len(ours) == 6 * n + 5


async def test_a_step_adds_at_most_a_twentieth_more_bytes_than_a_step_by_hand(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    added: list[float] = []
    for system in (COTERIE, HANDWRITTEN):
        few, many = [
            sum(event.ByteSize() for event in await history(env, tmp_path, system, n))
            for n in (FEW, MANY)
        ]
        added.append((many - few) / (MANY - FEW))
    assert added[0] <= 1.05 * added[1]
