"""Runs with tools go on while what serves them is killed at the planned moments."""

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from pydantic import JsonValue
from temporalio.client import Client
from temporalio.service import RPCError

from coterie.failures import CommandError
from coterie.runs.new_runs import start_run
from coterie.runs.run_client import Run
from coterie.workflows.core.messages import TeamInput
from tests.chaos.ground import Ground
from tests.chaos.people import People
from tests.chaos.tool_runs.planned_runs import Plan, Strike

TEAM = "shop"
_LOOK = 0.05
_PEOPLE_LOOK = 0.5


@dataclass(frozen=True, slots=True)
class ToolTerms:
    """How hard it is."""

    open_at_once: int = 5
    patience: float = 120.0
    """Seconds without a call, a turn or a kill, after which what is open is wedged."""
    limit: float = 3600.0
    """Seconds for everything."""
    undisturbed: bool = True
    """Whether each play has an undisturbed run first, whose result the others must have."""
    workers: int = 2


@dataclass
class ToolSiege:
    """One go."""

    ground: Ground
    people: People
    client: Client
    plan: Plan
    terms: ToolTerms
    tell: Callable[[str], None]
    started: dict[str, Run] = field(default_factory=dict[str, Run])
    wedged: dict[str, str] = field(default_factory=dict[str, str])
    seconds: float = 0.0
    _open: dict[str, Run] = field(default_factory=dict[str, Run])
    _began: float = 0.0
    _struck: int = 0

    async def lay(self) -> None:
        """One undisturbed run of each play, then all others under fire."""
        self._began = time.monotonic()
        if self.terms.undisturbed:
            twins = sorted({self.plan.twin(run) for run in self.plan.runs})
            await self._play_all(twins, ())
            self.tell(f"{len(twins)} undisturbed runs: {time.monotonic() - self._began:.0f} s")
        await self._play_all(self.plan.runs, self.plan.strikes)
        self.seconds = time.monotonic() - self._began

    async def _play_all(self, runs: Sequence[str], strikes: Sequence[Strike]) -> None:
        jobs = [
            asyncio.create_task(one)
            for one in (self._start_all(runs), self._strike_all(strikes), self._decide())
        ]
        try:
            await self._until_all_ended(runs, jobs)
        finally:
            for job in jobs:
                job.cancel()
            ended = await asyncio.gather(*jobs, return_exceptions=True)
        for one in ended:
            if isinstance(one, Exception):
                raise one

    async def _start_all(self, runs: Sequence[str]) -> None:
        for run in runs:
            while len(self._open) >= self.terms.open_at_once:  # noqa: ASYNC110  # others end them
                await asyncio.sleep(_LOOK)
            await self._start(run)

    async def _start(self, id: str) -> None:
        turns: list[JsonValue] = [[call.json(id) for call in turn] for turn in self.plan.play(id)]
        given = TeamInput(team=TEAM, context={"turns": turns})
        while True:
            try:
                await start_run(self.client, id, given, task_queue="coterie", summary=id)
                break
            except CommandError as error:
                if "already" in str(error):
                    break
                await asyncio.sleep(_LOOK)  # the server is away
        self.started[id] = self._open[id] = Run(self.client, id)

    async def _strike_all(self, strikes: Sequence[Strike]) -> None:
        """Kill one after another, each as soon as its call has begun."""
        left = list(strikes)
        while left:
            begun = _calls_begun(self.ground.shop.folder / "journal.txt")
            due = next((one for one in left if one.call.id(one.run) in begun), None)
            if due is None:
                await asyncio.sleep(_LOOK)
                continue
            left.remove(due)
            await asyncio.sleep(due.delay)
            await self.ground.strike(due.victim, random.Random(due.chance))
            self._struck += 1
            self.tell(f"kill {self._struck} of {len(strikes)}: {due}; {len(self._open)} runs open")

    async def _decide(self) -> None:
        while True:
            await self.people.round(list(self._open.values()))
            await asyncio.sleep(_PEOPLE_LOOK)

    async def _until_all_ended(
        self, runs: Sequence[str], jobs: "Sequence[asyncio.Task[None]]"
    ) -> None:
        moved, since = -1, time.monotonic()
        while not all(run in self.started and run not in self._open for run in runs):
            self.ground.look()
            for job in jobs:
                if job.done():
                    job.result()  # it may have failed
            await asyncio.sleep(_LOOK)
            for id in list(self._open):
                if await self._has_ended(self._open[id]):
                    del self._open[id]
            now, size = time.monotonic(), self._count_effects()
            if size != moved:
                moved, since = size, now
            if now - self._began > self.terms.limit:
                self._give_up(f"not ended after {self.terms.limit:g} s in all")
            elif now - since > self.terms.patience:
                self._give_up(f"nothing has moved for {self.terms.patience:g} s")

    def _give_up(self, why: str) -> None:
        self.wedged |= dict.fromkeys(self._open, why)
        self._open.clear()

    def _count_effects(self) -> int:
        """How much was done so far, whatever it was."""
        files = [self.ground.shop.folder / name for name in ("journal.txt", "calls.jsonl")]
        sizes = [file.stat().st_size for file in files if file.exists()]
        return sum(sizes) + self._struck + self.people.taken.total()

    async def _has_ended(self, run: Run) -> bool:
        try:
            described = await run.handle.describe(rpc_timeout=timedelta(seconds=2))
        except RPCError:
            return False  # the server is away
        return described.close_time is not None


def _calls_begun(journal: Path) -> set[str]:
    """The ids of all calls that have begun."""
    lines = journal.read_text().splitlines() if journal.exists() else []
    return {line.split()[2] for line in lines if line.count(" ") == 2}
