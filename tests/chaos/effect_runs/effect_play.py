"""Payments under fire: the worker dies while twenty of them are held, each at its own point."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from temporalio.client import Client

from coterie.failures import CommandError
from coterie.runs.new_runs import start_run
from coterie.runs.run_client import Run
from coterie.workflows.core.messages import DecideInput, TeamInput
from tests.chaos.effect_runs.bank import IN_WORKER, POINTS, Bank, Point
from tests.chaos.effect_runs.effect_plan import TEAMS, EffectRun, effect_runs
from tests.chaos.effect_runs.effect_reckoning import SeenRun, check_run, seen_run, summary
from tests.support.programs.command_server import Running
from tests.support.project import Project, project

SAMPLE = Path(__file__).parents[1] / "effect_project"
_LOOK = 0.1
_READERS = 8


@dataclass(frozen=True, slots=True)
class EffectTerms:
    """How much is played."""

    rounds: int = 50
    """In each, the worker is killed once."""
    in_flight: int = 20
    limit: float = 3_600.0
    """Seconds for all of it."""
    points: Sequence[Point] = POINTS


@dataclass
class EffectReport:
    """What came of it."""

    lines: list[str]
    wrong: list[str]


async def play_effects(
    folder: Path, seed: int, terms: EffectTerms, tell: Callable[[str], None]
) -> EffectReport:
    """Play it in a folder that does not exist yet; nothing is left running."""
    bank = Bank()
    is_patched = any(point in IN_WORKER for point in terms.points)
    hook = {"PYTHONPATH": str(SAMPLE / "hook")} if is_patched else {}
    async with bank.serving() as address, asyncio.timeout(terms.limit):
        with project(folder, hook, SAMPLE) as shop:
            (folder / "bank.txt").write_text(address)
            assert shop.coterie("server").returncode == 0
            siege = _Siege(shop, await shop.client(), bank, tell)
            runs = effect_runs(seed, terms.rounds * terms.in_flight, terms.points)
            return await siege.lay(runs, terms)


@dataclass
class _Siege:
    """One go."""

    shop: Project
    client: Client
    bank: Bank
    tell: Callable[[str], None]
    kills: int = 0
    _asked: dict[str, Run] = field(default_factory=dict[str, Run])
    """Runs that may ask a person."""

    async def lay(self, runs: Sequence[EffectRun], terms: EffectTerms) -> EffectReport:
        """Play to the end, then compare."""
        began = time.monotonic()
        worker = self.shop.begin("worker")
        answering = asyncio.create_task(self._answer())
        try:
            for number in range(terms.rounds):
                part = runs[number * terms.in_flight : (number + 1) * terms.in_flight]
                await asyncio.gather(*map(self._start, part))
                while not self.bank.held.issuperset(run.order for run in part):
                    self._look(worker)
                    await asyncio.sleep(_LOOK)
                worker = await self._kill(worker)
            seen = await self._end(runs, worker)
        finally:
            answering.cancel()
            await asyncio.gather(answering, return_exceptions=True)
        return self._report(seen, time.monotonic() - began)

    async def _start(self, run: EffectRun) -> None:
        self.bank.points[run.order] = list(run.points)
        if run.kind == "refused":
            self.bank.refuses.add(run.order)
        context = {"order": run.order, "asks": run.kind == "asked"}
        given = TeamInput(team=TEAMS[run.kind], context={**context})
        await start_run(self.client, run.order, given, task_queue="coterie", summary=run.order)
        if run.kind == "asked":
            self._asked[run.order] = Run(self.client, run.order)

    def _look(self, worker: Running) -> None:
        assert worker.poll() is None, self.shop.logs()

    async def _kill(self, worker: Running) -> Running:
        held = set(self.bank.held)
        worker.kill()
        worker.wait()
        while held & self.bank.held:  # noqa: ASYNC110  # the tools die with their worker
            await asyncio.sleep(_LOOK)
        self.kills += 1
        if self.kills % 5 == 0:
            self.tell(f"{self.kills} kills, {self.bank.interrupted.total()} calls interrupted")
        return self.shop.begin("worker")

    async def _end(self, runs: Sequence[EffectRun], worker: Running) -> list[SeenRun]:
        """Kill the worker while calls are held; then read all runs."""
        reading = asyncio.create_task(self._read_all(runs))
        while not reading.done():
            self._look(worker)
            waiting = {order for order, points in self.bank.points.items() if points}
            if waiting and self.bank.held.issuperset(waiting):
                worker = await self._kill(worker)
            await asyncio.wait([reading], timeout=_LOOK)
        return await reading

    async def _read_all(self, runs: Sequence[EffectRun]) -> list[SeenRun]:
        free = asyncio.Semaphore(_READERS)

        async def read(run: EffectRun) -> SeenRun:
            async with free:
                made = Run(self.client, run.order)
                end = await made.end()
                return await seen_run(run, await made.handle.fetch_history(), end)

        return list(await asyncio.gather(*map(read, runs)))

    async def _answer(self) -> None:
        """Answer as a person who has asked the bank."""
        while True:
            for run in list(self._asked.values()):
                with suppress(CommandError):  # its worker is dead
                    await self._answer_run(run)
            await asyncio.sleep(_LOOK)

    async def _answer_run(self, run: Run) -> None:
        if (await run.describe()).close_time is not None:
            del self._asked[run.id]
            return
        for request in await run.pending():
            was_paid = self.bank.effects(run.id) > 0
            decision = "approve" if was_paid else "reject"
            await run.decide(DecideInput(id=request.id, decision=decision, by="ann"))

    def _report(self, seen: Sequence[SeenRun], seconds: float) -> EffectReport:
        bank = self.bank
        effects = Counter(bank.keys.values())
        wrong = [one for run in seen for one in check_run(run, bank.keys, effects[run.run.order])]
        points = ", ".join(f"{number} {point}" for point, number in bank.interrupted.items())
        repeated = sum(number - 1 for number in bank.asked.values())
        lines = [
            f"{bank.interrupted.total()} calls interrupted in {self.kills} kills of a worker, "
            f"{seconds / 60:.1f} minutes: {points}",
            *summary(seen, bank.keys),
            f"the bank was asked {bank.asked.total()} times, {repeated} times again with a key "
            f"that it knew, and has counted {len(bank.keys)} payments of {len(effects)} orders",
        ]
        return EffectReport(lines, wrong)
