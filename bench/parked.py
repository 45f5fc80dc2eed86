"""A thousand runs that wait for a person in one worker, then are all decided.

    python -m bench.parked [--runs 1000]

Measures what a waiting run keeps in the worker's memory and what it takes to go on, against a
workflow written by hand that does the same. Writes `bench/results-parked.json`.
"""

import argparse
import asyncio
import json
import statistics
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from temporalio.client import Client, WorkflowHandle
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import DataConverter

from bench import loop, team
from bench.handwritten_approval import ApprovalInput
from bench.stage import WorkerProcess, stage
from bench.systems import WorkerKind
from coterie.storage.wire import data_converter
from coterie.workflows.core.messages import TeamInput

RESULTS = Path(__file__).parent / "results-parked.json"
REQUEST = {"coterie": "review/sign_off#1", "handwritten": "review/sign_off#1"}
_AT_ONCE = 25
_WARM_UP = 25
_PARKED_EVENTS = 10
"""Start, two workflow tasks, one activity: then a run waits."""
_PATIENCE_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Waiting:
    """A system whose runs wait for a person."""

    name: WorkerKind
    workflow: str
    converter: DataConverter
    given: object


@dataclass(frozen=True, slots=True)
class Sample:
    """What a round of parked runs cost one worker."""

    system: str
    runs: int
    kb_per_run: float
    """Resident memory that waiting adds, after the garbage was collected."""
    park_ms_per_run: float
    """CPU from a run's start until it waits."""
    resume_ms_per_run: float
    """CPU from its decision to its end."""


def _systems() -> tuple[Waiting, Waiting]:
    given = TeamInput(plan=team.approval_plan(), context={"topic": loop.TOPIC})
    return (
        Waiting("coterie", "TeamWorkflow", data_converter, given),
        Waiting(
            "handwritten",
            "DraftAndFinish",
            pydantic_data_converter,
            ApprovalInput(topic=loop.TOPIC),
        ),
    )


async def _all(jobs: Sequence[Callable[[], Awaitable[None]]]) -> None:
    """Every job, some of them at once."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(job: Callable[[], Awaitable[None]]) -> None:
        async with gate:
            await job()

    await asyncio.gather(*(one(job) for job in jobs))


async def _waits(handle: WorkflowHandle[object, object]) -> bool:
    return (await handle.describe()).history_length >= _PARKED_EVENTS


class Parking:
    """Parks runs of one system in its worker, and lets them go on."""

    def __init__(self, system: Waiting, client: Client, worker: WorkerProcess) -> None:
        self._system = system
        self._client = client
        self._worker = worker
        self._count = 0

    async def round(self, runs: int) -> Sample:
        """Park so many, measure, decide all of them, measure again."""
        cpu, memory = await self._worker.cpu(), await self._worker.memory()
        handles = await self.parked(runs)
        parked_cpu, parked = await self._worker.cpu(), await self._worker.memory()
        await self.decided(handles)
        ended_cpu = await self._worker.cpu()
        return Sample(
            self._system.name,
            runs,
            (parked - memory) / runs / 1024,
            (parked_cpu - cpu) / runs * 1000,
            (ended_cpu - parked_cpu) / runs * 1000,
        )

    async def parked(self, runs: int) -> list[WorkflowHandle[object, object]]:
        """Runs that wait for a person."""
        handles: list[WorkflowHandle[object, object]] = []

        async def start() -> None:
            self._count += 1
            handle = await self._client.start_workflow(
                self._system.workflow,
                self._system.given,
                id=f"parked-{self._system.name}-{self._count}",
                task_queue=self._worker.queue,
            )
            handles.append(handle)
            async with asyncio.timeout(_PATIENCE_SECONDS):
                while not await _waits(handle):  # noqa: ASYNC110  # another process makes it so
                    await asyncio.sleep(0.05)  # between two looks at what the worker does

        await _all([start] * runs)
        return handles

    async def decided(self, handles: Sequence[WorkflowHandle[object, object]]) -> None:
        """All of them approved and at their end."""

        async def decide(handle: WorkflowHandle[object, object]) -> None:
            decision = {
                "id": REQUEST[self._system.name],
                "decision": "approve",
                "by": "ann",
                "comment": "Good.",
            }
            await handle.execute_update("decide", decision)  # pyright: ignore[reportUnknownMemberType]
            await handle.result()

        async with asyncio.timeout(_PATIENCE_SECONDS):
            await _all([lambda handle=handle: decide(handle) for handle in handles])


async def _measure_runs(runs: int, rounds: int) -> list[Sample]:
    samples: list[Sample] = []
    systems = _systems()
    for number in range(rounds):
        # Fresh workers every round: memory that one round freed would hide the next one's.
        async with stage([system.name for system in systems]) as (address, workers):
            for system in systems if number % 2 == 0 else reversed(systems):
                client = await Client.connect(
                    address, identity="bench", data_converter=system.converter
                )
                parking = Parking(system, client, workers[system.name])
                await parking.decided(await parking.parked(_WARM_UP))
                samples.append(await parking.round(runs))
                print(samples[-1], file=sys.stderr)
    return samples


def _table(samples: Sequence[Sample]) -> str:
    columns = ("kb_per_run", "park_ms_per_run", "resume_ms_per_run")
    lines = [f"{'system':12}" + "".join(f"{column:>26}" for column in columns)]
    for name in ("coterie", "handwritten"):
        cells: list[str] = []
        for column in columns:
            own = [getattr(one, column) for one in samples if one.system == name]
            hand = [getattr(one, column) for one in samples if one.system == "handwritten"]
            ratios = [a / b for a, b in zip(own, hand, strict=True)]
            spread = f"{min(ratios):.2f} {max(ratios):.2f}"
            cells.append(
                f"{statistics.median(own):8.2f} {statistics.median(ratios):5.3f} [{spread}]"
            )
        lines.append(f"{name:12}" + "".join(f"{cell:>26}" for cell in cells))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.parked", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="runs that wait at once")
    parser.add_argument("--rounds", type=int, default=1, help="how often, with fresh workers")
    arguments = parser.parse_args()
    samples = asyncio.run(_measure_runs(arguments.runs, arguments.rounds))
    rows = [{"case": "parked", **asdict(sample)} for sample in samples]
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(f"\n{arguments.runs} runs that wait; ratio to handwritten: median [least most]")
    print(_table(samples))


if __name__ == "__main__":
    main()
