"""Run one large task graph while its workers are killed; check that nothing is lost or repeated.

The tasks run 20 at a time on two real `coterie worker` processes, each with a model turn that works
and one that accepts. The run continues as new by itself: while calls overlap, when it is overdue;
and in each moment without a call, for which there are gates.
"""

import asyncio
import json
import math
import random
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import Json
from coterie.runs.ends.end_words import incomplete_reason
from coterie.runs.histories.history_links import links
from coterie.runs.new_runs import start_run
from coterie.runs.run_client import Run
from coterie.workflows.core.messages import TeamInput
from coterie.workflows.temporal.durable_scope import OVERDUE_EVENTS
from tests.chaos.book import Call, calls_of, read_log
from tests.support.programs.command_server import Running
from tests.support.project import Project
from tests.support.servers.temporal_server import dev_server, suggesting_after

SAMPLE = Path(__file__).parent / "graph_project"
RUN = "graph"
TURNS = ("act", "accept")
"""Of each task, in this order."""
_GATES = (5 / 8, 6 / 8, 7 / 8)
"""Where in the tasks: a gate comes after all tasks before it, and before all that follow."""
_MAX_EVENTS = OVERDUE_EVENTS + 1_000
"""Of one history: an overdue run begins no step, and so has room for the ends of 20 calls."""
_SUGGESTED = 4_096
"""Events after which Temporal suggests to continue as new by itself."""
_WORKERS = 2
_LOOK = 0.5
_GAP = (2.0, 8.0)
"""Seconds between two kills."""
_GROWTH = 1.3
"""How much larger the workers may be in the last third of the run than in the middle one."""


@dataclass
class Workers:
    """The workers of the run, and their resident memory as seen over time."""

    project: Project
    chance: random.Random
    kills: list[float] = field(default_factory=list[float])
    """Unix times."""
    sizes: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    """Unix time, and MB of the largest worker."""
    _running: list[Running] = field(default_factory=list[Running])

    def begin(self) -> None:
        """Start them."""
        self._running = [self.project.begin("worker") for _ in range(_WORKERS)]

    def look(self) -> None:
        """Note how large they are."""
        self.sizes.append((time.time(), max(resident(worker.pid) for worker in self._running)))

    async def kill(self, number: int) -> None:
        """`kill -9` so many of them, one at a time; another one takes its place at once."""
        for _ in range(number):
            await asyncio.sleep(self.chance.uniform(*_GAP))
            worker = self._running.pop(self.chance.randrange(len(self._running)))
            worker.kill()
            worker.wait()
            self.kills.append(time.time())
            self._running.append(self.project.begin("worker"))


def resident(pid: int) -> float:
    """Return the MB of a process in memory; 0 if it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    sizes = (line.split()[1] for line in lines if line.startswith("VmRSS:"))
    return int(next(sizes, "0")) / 1024


def gates_of(number: int) -> list[int]:
    """Return which of so many tasks are gates."""
    return sorted({int(number * share) for share in _GATES} - {0})


def random_tasks(number: int, chance: random.Random) -> list[Json]:
    """Return tasks of which each depends on up to two of the forty before it, behind the last gate.

    While a gate waits for its turn, no call runs.
    """
    gates = gates_of(number)
    gate: int | None = None
    leaves: dict[int, None] = {}
    tasks: list[Json] = []
    for n in range(number):
        first = max(gate or 0, n - 40)
        if n in gates:
            before, gate = [*leaves], n
        else:
            before = [chance.randrange(first, n) for _ in range(chance.randint(0, 2)) if n]
            before = before or ([] if gate is None else [gate])
        for other in before:
            leaves.pop(other, None)
        leaves[n] = None
        tasks.append({"id": f"t{n}", "dependencies": [f"t{other}" for other in before]})
    return tasks


def passed_gates(
    gates: Sequence[int], histories: Sequence[Sequence[Call]], continue_after: int
) -> list[str]:
    """Return the broken promises of gates: a run that may continue as new does so at each of them.

    Args:
        gates: Which tasks they are.
        histories: The calls of each history of the run.
        continue_after: Events after which Temporal suggests it; so many calls have more events.
    """
    wrong: list[str] = []
    for number, calls in enumerate(histories, 1):
        tasks = [int(json.loads(call.input)["inputs"]["task"]["id"][1:]) for call in calls]
        for gate in gates:
            before = sum(task < gate for task in tasks)
            if continue_after <= before < len(tasks):
                wrong.append(f"history {number} has {before} calls before the gate t{gate}")
    return wrong


def check(
    dependencies: Mapping[str, Sequence[str]], calls: Sequence[Call], counted: object
) -> list[str]:
    """Return the broken promises of the tasks: each is done once, and after what it depends on.

    Args:
        dependencies: `{task: the tasks before it}`.
        calls: Of all histories.
        counted: The tasks that the context of the run has counted.
    """
    wrong: list[str] = []
    made: dict[tuple[str, str], list[Call]] = defaultdict(list)
    for call in calls:
        request = json.loads(call.input)
        made[str(request["inputs"]["task"]["id"]), str(request["task"])].append(call)
    for name, before in dependencies.items():
        started, ended = (made[name, turn] for turn in TURNS)
        for turn, of_it in zip(TURNS, (started, ended), strict=True):
            if len(of_it) != 1 or of_it[0].completed is None:
                wrong.append(f"{name}: {turn} has {len(of_it)} calls, and not one with a result")
        for other in before if started else ():
            accepted = [call.completed for call in made[other, TURNS[-1]]]
            if not accepted or (accepted[0] or math.inf) > started[0].scheduled:
                wrong.append(f"{name} started before {other} was accepted")
    if counted != len(dependencies):
        wrong.append(f"the context counts {counted} of {len(dependencies)} tasks")
    return wrong


def thirds(sizes: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Return the largest size, in MB, in each third of the run.

    In the first third, the workers still load what they need.
    """
    third = max(1, len(sizes) // 3)
    parts = sizes[:third], sizes[third:-third] or sizes[:third], sizes[-third:]
    first, middle, last = (max(size for _, size in part) for part in parts)
    return first, middle, last


def server(continue_after: int | None) -> AbstractAsyncContextManager[WorkflowEnvironment]:
    """The real server; with a number, it suggests to continue as new after so many events."""
    return dev_server() if continue_after is None else suggesting_after(continue_after)


@dataclass(frozen=True, slots=True)
class GraphTerms:
    """How hard it is."""

    tasks: int = 2000
    kills: int = 10
    """At most."""
    limit: float = 1800.0
    """Seconds for all of it."""
    continue_after: int | None = None
    """Events after which the server suggests to continue as new; None for its own default."""


async def play_graph(
    folder: Path, seed: int, terms: GraphTerms, tell: Callable[[str], None]
) -> list[str]:
    """Run the graph, kill its workers meanwhile; return the promises that were broken."""
    chance = random.Random(seed)
    tasks = random_tasks(terms.tasks, chance)
    async with server(terms.continue_after) as env:
        client: Client = env.client
        address = client.service_client.config.target_host
        project = Project(folder, {"COTERIE_ADDRESS": address}, SAMPLE)
        workers = Workers(project, chance)
        try:
            workers.begin()
            began = time.monotonic()
            context: Json = {"tasks": [*tasks], "done": 0}
            given = TeamInput(team="graph", context=context)
            await start_run(client, RUN, given, task_queue="coterie", summary=RUN)
            killing = asyncio.create_task(workers.kill(terms.kills))
            end = await asyncio.wait_for(_await_end(Run(client, RUN), workers), terms.limit)
            killing.cancel()
            seconds = time.monotonic() - began
            histories = [history async for history in links(client, RUN)]
        finally:
            project.close()
    made = [[call for call in calls_of(one) if call.type == "run_agent"] for one in histories]
    calls = [call for one in made for call in one]
    first, middle, last = thirds(workers.sizes)
    attempts = sum(call.attempts for call in calls)
    asked = sum(map(len, read_log(folder / "calls.jsonl").values()))
    events = sum(len(history.events) for history in histories)
    tell(f"{len(tasks)} tasks in {seconds:.0f} s, {len(workers.kills)} kills of a worker")
    tell(
        f"{len(histories) - 1} times continued as new, {events:,} events, "
        f"{events / len(tasks):.2f} a task"
    )
    tell(f"{len(calls)} model turns, {attempts} attempts, {asked} calls of the model")
    tell(f"largest worker in each third: {first:.0f}, {middle:.0f}, {last:.0f} MB")
    wrong = check(dependencies_of(tasks), calls, end.get("done"))
    wrong += passed_gates(gates_of(terms.tasks), made, terms.continue_after or _SUGGESTED)
    longest = max(len(history.events) for history in histories)
    if longest > _MAX_EVENTS:
        wrong.append(f"a history has {longest:,} events, more than {_MAX_EVENTS:,}")
    if last > _GROWTH * middle:
        wrong.append(f"the workers grew from {middle:.0f} to {last:.0f} MB")
    if attempts - len(calls) > 20 * len(workers.kills):
        wrong.append(f"{attempts - len(calls)} attempts were repeated after so few kills")
    return wrong


async def _await_end(run: Run, workers: Workers) -> Json:
    """Wait for the end of the run, and watch its workers; return its context."""
    ending = asyncio.create_task(run.end())
    while not ending.done():
        workers.look()
        await asyncio.wait([ending], timeout=_LOOK)
    end = await ending
    if not end.completed or end.result is None:
        raise RuntimeError(f"the run did not complete: {incomplete_reason(end)}")
    return end.result.context


def dependencies_of(tasks: Sequence[Json]) -> dict[str, list[str]]:
    """Return `{task: the tasks before it}`."""
    return {
        str(one["id"]): [str(n) for n in cast("list[str]", one["dependencies"])] for one in tasks
    }
