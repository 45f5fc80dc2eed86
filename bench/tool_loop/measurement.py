"""Runs the tool loop of each system in turn: `python -m bench tools`.

Each system runs the same loop: in each turn the model asks for two tools at once, and each result
has two kilobytes. Prints a table and writes the rows of the case `tools`.
"""

import asyncio
import json
import statistics
import sys
import time
import uuid
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import DataConverter

from bench.measuring import history_size
from bench.report import Ratio, write_rows
from bench.stage import WorkerProcess, server
from bench.tool_loop import team, work
from bench.tool_loop.environment import python_of_peer
from coterie.dsl.values import Json
from coterie.storage.wire import data_converter
from coterie.workflows.core.messages import TeamInput

ROUNDS = 3
TURNS = 100
_WARM_UP_RUNS = 2
_OWN = (sys.executable, "-m", "bench.tool_loop.worker")


@dataclass(frozen=True, slots=True)
class ToolSystem:
    """One way to run the loop."""

    name: str
    workflow: str
    converter: DataConverter
    given: Callable[[int], object]
    """The input of a run of so many turns."""
    program: Callable[[], Sequence[str]] = lambda: _OWN


COTERIE = ToolSystem(
    "coterie", "TeamWorkflow", data_converter, lambda turns: TeamInput(plan=team.plan(turns))
)
LOCAL = ToolSystem(
    "local-activities",
    "TeamWorkflow",
    data_converter,
    lambda turns: TeamInput(plan=team.plan(turns, local=True)),
)
HANDWRITTEN = ToolSystem("handwritten", "LibraryLoop", pydantic_data_converter, int)
PLUGIN = ToolSystem(
    "openai-agents",
    "AgentsLoop",
    pydantic_data_converter,
    int,
    lambda: (python_of_peer(), "-m", "bench.openai_agents.worker"),
)
SYSTEMS = (COTERIE, LOCAL, HANDWRITTEN, PLUGIN)


@dataclass(frozen=True, slots=True)
class ToolSample:
    """What one run cost."""

    system: str
    turns: int
    events: int
    commanded: int
    """Events without those of workflow tasks, whose number depends on what ends together."""
    bytes: int
    cpu_seconds: float
    """Of the worker."""
    wall_seconds: float

    def per_turn(self) -> dict[str, float]:
        """The figures, divided by the turns with tools."""
        return {
            "events_per_turn": self.events / self.turns,
            "commanded_per_turn": self.commanded / self.turns,
            "bytes_per_turn": self.bytes / self.turns,
            "worker_cpu_ms_per_turn": self.cpu_seconds / self.turns * 1000,
            "wall_ms_per_turn": self.wall_seconds / self.turns * 1000,
        }


NAMES = (
    "events_per_turn",
    "commanded_per_turn",
    "bytes_per_turn",
    "worker_cpu_ms_per_turn",
    "wall_ms_per_turn",
)


def measured(turns: int, rounds: int, database: str | None, out: Path) -> str:
    """Measure, write the rows, and return the table."""
    samples = asyncio.run(_samples(turns, rounds, database))
    rows = [_row(system, turns, samples) for system in SYSTEMS]
    rows += [_ratios(baseline, turns, samples) for baseline in (LOCAL, HANDWRITTEN, PLUGIN)]
    write_rows(out, rows)
    return "\n".join(_table(rows, turns))


async def _samples(turns: int, rounds: int, database: str | None) -> list[ToolSample]:
    samples: list[ToolSample] = []
    async with _stage(turns, database) as (address, workers):
        for system in SYSTEMS:
            for _ in range(_WARM_UP_RUNS):  # imports, caches, connections
                await _sample(system, turns, address, workers[system.name])
        for number in range(rounds):
            for system in SYSTEMS if number % 2 == 0 else reversed(SYSTEMS):
                sample = await _sample(system, turns, address, workers[system.name])
                samples.append(sample)
                print(
                    f"{sample.system:16} {turns} turns: {sample.events} events, "
                    f"{sample.bytes} bytes, {sample.cpu_seconds:.2f} s CPU, "
                    f"{sample.wall_seconds:.2f} s wall",
                    file=sys.stderr,
                )
    return samples


@asynccontextmanager
async def _stage(
    turns: int, database: str | None
) -> AsyncGenerator[tuple[str, dict[str, WorkerProcess]]]:
    """A server, and a worker for each system."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        script = folder / "answers.yml"
        script.write_text(json.dumps(team.script(turns)))
        address = await stack.enter_async_context(server(database))
        workers: dict[str, WorkerProcess] = {}
        for system in SYSTEMS:
            worker = await WorkerProcess.start(system.name, address, script, system.program())
            stack.push_async_callback(worker.stop)
            workers[system.name] = worker
        yield address, workers


async def _sample(
    system: ToolSystem, turns: int, address: str, worker: WorkerProcess
) -> ToolSample:
    client = await Client.connect(address, identity="bench", data_converter=system.converter)
    cpu, wall = await worker.cpu(), time.perf_counter()
    handle = await client.start_workflow(
        system.workflow,
        system.given(turns),
        id=f"tools-{uuid.uuid4()}",
        task_queue=worker.queue,
    )
    result = await worker.alive_for(handle.result())
    wall = time.perf_counter() - wall
    cpu = await worker.cpu() - cpu
    if work.ANSWER not in json.dumps(result):
        raise RuntimeError(f"a run of {system.name} ended with {result!r}")
    events, size = await history_size(client, handle.id)
    history = await handle.fetch_history()
    kinds = Counter(EventType.Name(event.event_type) for event in history.events)
    calls = kinds["EVENT_TYPE_ACTIVITY_TASK_COMPLETED"] + kinds["EVENT_TYPE_MARKER_RECORDED"]
    if calls != 3 * turns + 1:
        raise RuntimeError(f"a run of {system.name} made {calls} calls in {turns} turns")
    commanded = sum(count for kind, count in kinds.items() if "WORKFLOW_TASK" not in kind)
    return ToolSample(system.name, turns, events, commanded, size, cpu, wall)


def _of(system: str, name: str, samples: Iterable[ToolSample]) -> list[float]:
    return [sample.per_turn()[name] for sample in samples if sample.system == system]


def _row(system: ToolSystem, turns: int, samples: Sequence[ToolSample]) -> Json:
    return {
        "system": system.name,
        "case": "tools",
        "n": turns,
        **{name: round(statistics.median(_of(system.name, name, samples)), 3) for name in NAMES},
    }


def _ratios(baseline: ToolSystem, turns: int, samples: Sequence[ToolSample]) -> Json:
    row: Json = {
        "system": COTERIE.name,
        "case": "tools-ratio",
        "n": turns,
        "baseline": baseline.name,
    }
    for name in NAMES:
        ratio = Ratio.of(_of(COTERIE.name, name, samples), _of(baseline.name, name, samples))
        row |= {
            name: round(ratio.median, 4),
            f"{name}_least": round(ratio.least, 4),
            f"{name}_most": round(ratio.most, 4),
        }
    return row


def _table(rows: Sequence[Json], turns: int) -> Iterator[str]:
    yield f"A loop of {turns} turns with two calls each; figures per turn"
    yield f"{'system':18}" + "".join(f"{name:>24}" for name in NAMES)
    for row in rows:
        if row["case"] == "tools":
            yield f"{row['system']:18}" + "".join(f"{row[name]:>24}" for name in NAMES)
    for row in rows:
        if row["case"] == "tools-ratio":
            yield f"to {row['baseline']:15}" + "".join(f"{row[name]:>24}" for name in NAMES)
