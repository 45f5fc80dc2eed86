"""Runs each system in turn, again and again, and keeps what each run cost."""

import time
import uuid
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHistoryEventFilterType

from bench.stage import WorkerProcess
from bench.systems import System, WorkerKind

_STEPS_PER_SAMPLE = 100
"""At least so many: short runs are measured several at a time."""

_LONG = 1000
"""Runs of this length and more are measured in a third of the rounds."""

_WARM_UP_STEPS = 30


@dataclass(frozen=True, slots=True)
class Sample:
    """What runs of one length cost; sums are over whole runs, first event to last."""

    system: str
    n: int
    runs: int
    events: int
    """Of one run."""
    bytes: float
    """Of one run: what the server counts as the size of its history."""
    cpu_seconds: float
    """Of the worker, over all runs."""
    wall_seconds: float
    """Over all runs, one after the other."""

    @property
    def steps(self) -> int:
        """In all runs."""
        return self.n * self.runs


class Measuring:
    """Starts runs on one server and reads what they cost."""

    def __init__(
        self, systems: Sequence[System], address: str, workers: dict[WorkerKind, WorkerProcess]
    ) -> None:
        self._systems = systems
        self._address = address
        self._workers = workers
        self._clients: dict[str, Client] = {}

    async def samples(self, lengths: Sequence[int], rounds: int) -> AsyncGenerator[Sample]:
        """Samples as they come: every system after the other, the order turned every round."""
        for system in self._systems:
            self._clients[system.name] = await Client.connect(
                self._address, identity="bench", data_converter=system.converter
            )
            await self._run(system, _WARM_UP_STEPS)  # imports, caches, connections
        for number in range(rounds):
            for n in lengths:
                if n >= _LONG and number >= max(2, rounds // 3):
                    continue
                for system in self._systems if number % 2 == 0 else reversed(self._systems):
                    yield await self._sample(system, n)

    async def _sample(self, system: System, n: int) -> Sample:
        runs = -(-_STEPS_PER_SAMPLE // n)
        worker = self._workers[system.worker]
        cpu = await worker.cpu()
        wall = time.perf_counter()
        ids = [await self._run(system, n) for _ in range(runs)]
        wall = time.perf_counter() - wall
        cpu = await worker.cpu() - cpu
        sizes = [await history_size(self._clients[system.name], id) for id in ids]
        events = {count for count, _ in sizes}
        if len(events) != 1:
            raise RuntimeError(f"runs of {system.name} differ in their events: {sorted(events)}")
        size = sum(size for _, size in sizes) / runs
        return Sample(system.name, n, runs, events.pop(), size, cpu, wall)

    async def _run(self, system: System, n: int) -> str:
        """One run to its end; its id."""
        worker = self._workers[system.worker]
        handle = await self._clients[system.name].start_workflow(
            system.workflow, system.given(n), id=f"bench-{uuid.uuid4()}", task_queue=worker.queue
        )
        await worker.alive_for(handle.result())
        return handle.id


async def history_size(client: Client, id: str) -> tuple[int, int]:
    """Events and bytes of a run's whole history, as the server counts them.

    A long run continues as new: all of its histories count.
    """
    parts = [part async for part in histories(client, id)]
    return sum(events for events, _ in parts), sum(size for _, size in parts)


async def histories(client: Client, id: str) -> AsyncGenerator[tuple[int, int]]:
    """Events and bytes of each history of a run, oldest first."""
    handle = client.get_workflow_handle(id)
    run_id: str | None = (await handle.describe()).raw_info.first_run_id
    while run_id:
        handle = client.get_workflow_handle(id, run_id=run_id)
        info = (await handle.describe()).raw_info
        yield info.history_length, info.history_size_bytes
        run_id = None
        if info.status == WorkflowExecutionStatus.CONTINUED_AS_NEW:
            closing = [
                event
                async for event in handle.fetch_history_events(
                    event_filter_type=WorkflowHistoryEventFilterType.CLOSE_EVENT
                )
            ]
            continued = closing[-1].workflow_execution_continued_as_new_event_attributes
            run_id = continued.new_execution_run_id
