"""Runs of very many steps, in pairs: what a step costs, and whether anything grows."""

import asyncio
import statistics
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from temporalio.client import Client

from bench.measuring import histories
from bench.report import Ratio, write_rows
from bench.stage import WorkerProcess, stage
from bench.systems import COTERIE, HANDWRITTEN, LEAN, System, WorkerKind
from coterie.dsl.values import Json

PAIRS = 3
COMPARED = ("worker_cpu_ms_per_step", "bytes_per_step", "wall_ms_per_step")
_LOOK_SECONDS = 5.0
_MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Long:
    """One run, from its first history to its last."""

    system: str
    n: int
    counted: int
    """Steps, as the run itself counted them."""
    events: tuple[int, ...]
    """Of each of its histories."""
    size: int
    cpu_seconds: float
    wall_seconds: float
    memory: tuple[float, ...]
    """Bytes of the worker, looked at again and again while it ran."""

    def held(self, first: float, last: float) -> float:
        """Megabytes that the worker held, between two parts of the run's time."""
        part = self.memory[int(first * len(self.memory)) : max(1, int(last * len(self.memory)))]
        return statistics.median(part or self.memory[-1:]) / _MEGABYTE

    def row(self) -> Json:
        """For programs."""
        return {
            "system": self.system,
            "case": "long",
            "n": self.n,
            "counted": self.counted,
            "histories": len(self.events),
            "most_events": max(self.events),
            "events_per_step": sum(self.events) / self.n,
            "bytes_per_step": round(self.size / self.n, 1),
            "worker_cpu_ms_per_step": round(self.cpu_seconds / self.n * 1000, 4),
            "wall_ms_per_step": round(self.wall_seconds / self.n * 1000, 4),
            "memory_mb_early": round(self.held(0.1, 0.3), 1),
            "memory_mb_late": round(self.held(0.8, 1.0), 1),
        }


def measured(n: int, pairs: int, database: str | None, out: Path, *, lean: bool = False) -> str:
    """Measure, write the rows, and print them.

    Args:
        n: steps of each run.
        pairs: of runs that are held against each other.
        database: a file for the server's SQLite; in memory without one.
        out: where the rows are written.
        lean: hold Coterie against the hand-written workflow on its own runner as well.
    """
    baselines = (HANDWRITTEN, LEAN) if lean else (HANDWRITTEN,)
    runs = asyncio.run(_runs((COTERIE, *baselines), n, pairs, database))
    wrong = [run for run in runs if run.counted != n]
    if wrong:
        raise RuntimeError(f"runs of {n} steps counted {[run.counted for run in wrong]}")
    rows = [run.row() for run in runs]
    compared = [comparison(rows, baseline) for baseline in baselines]
    write_rows(out, [*rows, *compared])
    return "\n".join([*_report_lines(rows), *map(_comparison, compared)])


async def _runs(systems: Sequence[System], n: int, pairs: int, database: str | None) -> list[Long]:
    kinds: list[WorkerKind] = [system.worker for system in systems]
    runs: list[Long] = []
    async with stage(kinds, database) as (address, workers):
        for system in systems:
            await _run(system, address, workers[system.worker], 30)  # imports, connections
        for number in range(pairs):
            for system in systems if number % 2 == 0 else reversed(systems):
                run = await _run(system, address, workers[system.worker], n)
                print(f"{system.name}: {n} steps in {run.wall_seconds:.0f} s", file=sys.stderr)
                runs.append(run)
    return runs


async def _run(system: System, address: str, worker: WorkerProcess, n: int) -> Long:
    client = await Client.connect(address, identity="bench", data_converter=system.converter)
    memory: list[float] = []
    cpu, wall = await worker.cpu(), time.perf_counter()
    handle = await client.start_workflow(
        system.workflow, system.given(n), id=f"long-{uuid.uuid4()}", task_queue=worker.queue
    )
    looking = asyncio.create_task(_measure_worker(worker, memory))
    try:
        result: Json = await worker.alive_for(handle.result())
    finally:
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking
    wall = time.perf_counter() - wall
    cpu = await worker.cpu() - cpu
    memory.append(await worker.memory())
    parts = [part async for part in histories(client, handle.id)]
    counted = result["model_calls" if system is COTERIE else "rounds"]
    assert isinstance(counted, int)
    return Long(
        system.name,
        n,
        counted,
        tuple(events for events, _ in parts),
        sum(size for _, size in parts),
        cpu,
        wall,
        tuple(memory),
    )


async def _measure_worker(worker: WorkerProcess, memory: list[float]) -> None:
    while True:
        memory.append(await asyncio.shield(worker.memory()))
        await asyncio.sleep(_LOOK_SECONDS)


def comparison(rows: Sequence[Json], baseline: System) -> Json:
    """What a step of Coterie costs of one of the baseline: the median of the pairs, and between
    which ratios all of them are."""
    shown: Json = {
        "system": COTERIE.name,
        "case": "long-ratio",
        "n": rows[0]["n"],
        "baseline": baseline.name,
        "runner": baseline.runner,
        "sandbox": baseline.sandbox,
    }
    for name in COMPARED:
        ours, theirs = (_of(system, name, rows) for system in (COTERIE, baseline))
        ratio = Ratio.of(ours, theirs)
        shown["pairs"] = len(ours)
        shown |= {
            name: round(ratio.median, 4),
            f"{name}_least": round(ratio.least, 4),
            f"{name}_most": round(ratio.most, 4),
        }
    return shown


def _of(system: System, name: str, rows: Sequence[Json]) -> list[float]:
    return [float(str(row[name])) for row in rows if row["system"] == system.name]


def _report_lines(rows: Sequence[Json]) -> Iterator[str]:
    names = [name for name in rows[0] if name not in ("system", "case", "n", "counted")]
    yield f"Runs of {rows[0]['n']} steps, without any action of their author"
    yield f"{'system':18}" + "".join(f"{name:>24}" for name in names)
    for row in rows:
        yield f"{row['system']:18}" + "".join(f"{row[name]:>24}" for name in names)


def _comparison(message: Json) -> str:
    lines = [
        f"\n{COTERIE.name} to {message['baseline']} (runner: {message['runner']}; "
        f"sandbox: {message['sandbox']}), {message['pairs']} pairs: median [least most]"
    ]
    for name in COMPARED:
        ratio = Ratio(*(float(str(message[f"{name}{end}"])) for end in ("", "_least", "_most")))
        lines.append(f"{name:24}{ratio}")
    return "\n".join(lines)
