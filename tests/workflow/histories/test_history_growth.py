"""A team's history grows by no more than that of the same loop written by hand (bench/)."""

import json
from collections import Counter
from pathlib import Path

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from bench import loop
from bench.systems import COTERIE, HANDWRITTEN, System
from bench.tool_loop import measurement as tools
from bench.tool_loop import worker as tool_workers
from bench.tool_loop.team import script as tool_script
from bench.worker import providers, worker

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


async def tool_history(
    env: WorkflowEnvironment, folder: Path, system: tools.ToolSystem, turns: int
) -> list[HistoryEvent]:
    """What an agent leaves behind that calls two tools in each of its turns."""
    script = folder / "answers.json"
    script.write_text(json.dumps(tool_script(turns)))
    address = env.client.service_client.config.target_host
    client = await Client.connect(address, data_converter=system.converter)
    queue = f"tools-{system.name[:4]}"
    serve = tool_workers.handwritten if system is tools.HANDWRITTEN else tool_workers.coterie
    async with serve(address, queue, providers(script), folder):
        handle = await client.start_workflow(
            system.workflow,
            system.given(turns),
            id=f"tools-{system.name}-{turns}",
            task_queue=queue,
        )
        await handle.result()
        return list((await handle.fetch_history()).events)


async def test_a_turn_with_tools_writes_the_events_of_one_by_hand_and_half_of_its_bytes(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    added: list[int] = []
    for system in (tools.COTERIE, tools.HANDWRITTEN):
        few, many = [await tool_history(env, tmp_path, system, turns) for turns in (1, 3)]
        kinds = [
            Counter(EventType.Name(event.event_type) for event in events) for events in (few, many)
        ]
        # without those of workflow tasks, which depend on whether two calls end together
        new = {kind: n for kind, n in (kinds[1] - kinds[0]).items() if "WORKFLOW_TASK" not in kind}
        assert new == {
            f"EVENT_TYPE_ACTIVITY_TASK_{kind}": 6 for kind in ("SCHEDULED", "STARTED", "COMPLETED")
        }
        added.append(sum(e.ByteSize() for e in many) - sum(e.ByteSize() for e in few))
    assert added[0] <= added[1] / 2
