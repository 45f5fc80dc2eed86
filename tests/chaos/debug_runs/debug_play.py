"""An agent mends a planted defect of a real package, and its worker is killed in every phase."""

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from temporalio.client import Client

from coterie.failures import CommandError
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.ends.end_words import incomplete_reason
from coterie.runs.histories.history_links import links
from coterie.runs.run_client import Run
from coterie.settings import STORED
from coterie.storage.large_values import directory_storage
from evals.packages.planting import original
from tests.chaos.book import Call, calls_of, check_calls, read_log
from tests.chaos.debug_runs.debug_ground import FILE, RUN, DebugGround, debug_ground
from tests.chaos.debug_runs.debug_phases import PHASES, Phase, in_progress, meets
from tests.chaos.moments import until
from tests.chaos.tool_runs.tool_reckoning import comparable
from tests.support.programs.command_server import Running

RED, GREEN = "1 failed, 16 passed", "17 passed"
_DELAY = (0.0, 0.2)
"""Seconds into a phase."""
_PATIENCE = 120.0
"""Seconds for each thing that is waited for."""


@dataclass(frozen=True, slots=True)
class Mended:
    """What one run came to."""

    end: RunEnd
    calls: list[Call]
    asked: int
    """Calls of the model."""
    commits: list[str]
    writes: int
    text: str
    """Of the file with the defect."""
    wrong: list[str]

    @property
    def work(self) -> list[str]:
        """What was done, by step and tool: one more for each piece of work that is done again.

        The number before it is that of its start, and calls of one turn may start in any order.
        """
        return sorted(f"{call.type} {call.id.partition('.')[2]}" for call in self.calls)


@dataclass
class DebugReport:
    """What came of all runs."""

    phases: list[str] = field(default_factory=list[str])
    """In which something was killed."""
    turns: int = 0
    asked: int = 0
    tools: int = 0
    attempts: int = 0
    runs: int = 0
    green: int = 0
    writes: int = 0
    commits: int = 0
    wrong: list[str] = field(default_factory=list[str])

    def lines(self) -> list[str]:
        """For people."""
        met = ", ".join(f"{self.phases.count(one.name)} {one.name}" for one in PHASES)
        return [
            f"{self.green} of {self.runs} runs mended the defect: {RED} before, {GREEN} after",
            f"{len(self.phases)} kills of the worker ({met})",
            f"{self.turns} model turns, {self.asked} calls of the model; {self.tools} calls of "
            f"tools, {self.attempts} attempts",
            f"{self.writes} files written, {self.commits} commits: the same in every run",
        ]


async def play_debug(
    folder: Path, seed: int, kills: int, tell: Callable[[str], None]
) -> DebugReport:
    """Let an undisturbed agent mend it, then others whose worker dies in each phase.

    Args:
        folder: To be made; what remains there tells what happened.
        seed: Of the moments within the phases.
        kills: One in each phase of the first run, then of the next.
        tell: Takes lines of progress.
    """
    chance, report = random.Random(seed), DebugReport()
    usual = await _play_run(folder / "undisturbed", (), chance, report, tell)
    _take(report, usual)
    for number in range(-(-kills // len(PHASES))):
        phases = PHASES[: kills - number * len(PHASES)]
        found = await _play_run(folder / f"run-{number + 1}", phases, chance, report, tell)
        _take(report, found)
        report.wrong += [f"run {number + 1}: {one}" for one in differences(found, usual)]
    return report


def _take(report: DebugReport, found: Mended) -> None:
    report.runs += 1
    report.wrong += found.wrong
    report.green += not found.wrong
    turns = [call for call in found.calls if call.type == "run_agent"]
    tools = [call for call in found.calls if call.type == "call_function"]
    report.turns += len(turns)
    report.tools += len(tools)
    report.attempts += sum(call.attempts for call in tools)
    report.asked += found.asked
    report.writes, report.commits = found.writes, len(found.commits) - 1


def differences(found: Mended, usual: Mended) -> list[str]:
    """Return where a disturbed run came to something else than the undisturbed one."""
    pairs = {
        "its end": (_end(found), _end(usual)),
        "its calls": (found.work, usual.work),
        "the commits": (found.commits, usual.commits),
        "the number of written files": (found.writes, usual.writes),
        "the mended file": (found.text, usual.text),
    }
    return [f"{what}: {one} not {other}" for what, (one, other) in pairs.items() if one != other]


def _end(mended: Mended) -> str:
    return comparable(RUN, mended.end)


async def _play_run(
    folder: Path,
    phases: Sequence[Phase],
    chance: random.Random,
    report: DebugReport,
    tell: Callable[[str], None],
) -> Mended:
    """Play one run in a project of its own."""
    with debug_ground(folder) as ground:
        wrong = [] if (red := ground.verdict()) == RED else [f"before, the tests say {red}"]
        began, kills, met = time.monotonic(), list[float](), list[Phase]()
        worker = ground.begin()
        client = await _client(ground)
        for phase in phases:
            await _wait_for_phase(ground, client, phase)
            await asyncio.sleep(chance.uniform(*_DELAY) if phase.activity else 0)
            kills.append(time.time())
            worker.kill()
            worker.wait()
            if phase.activity and meets(phase, in_progress(await Run(client, RUN).describe())):
                met.append(phase)  # on a busy machine, a call may end before the kill
            report.phases.append(phase.name)
            tell(f"kill {len(report.phases)}: {phase.name}")
            worker = ground.resume()
            if not phase.activity:
                await _run_control_command(ground, "resume")
        found = await _result(ground, client, worker, kills, met, wrong)
        tell(f"{folder.name}: {len(phases)} kills, {time.monotonic() - began:.0f} s")
        return found


async def _client(ground: DebugGround) -> Client:
    """A client of the server that the agent has started."""
    record = ground.shop.folder / ".coterie" / "server.json"

    async def there() -> bool:
        return record.exists()

    await until(there, "the server", _PATIENCE)
    await ground.shop.client()  # it answers
    storage = directory_storage(ground.shop.folder / ".coterie" / STORED, private=True)
    client = await Client.connect(ground.shop.address, data_converter=storage.converter)

    async def begun() -> bool:
        try:
            await Run(client, RUN).describe()
        except CommandError:
            return False
        return True

    await until(begun, "the run", _PATIENCE)
    return client


async def _wait_for_phase(ground: DebugGround, client: Client, phase: Phase) -> None:
    """Wait until the run is in a phase; between two attempts, it is paused there."""
    run = Run(client, RUN)

    async def there() -> bool:
        described = await run.describe()
        if described.close_time is not None:
            raise RuntimeError(f"it ended before {phase.name}: {ground.shop.logs()}")
        return meets(phase, in_progress(described))

    if phase.activity:
        await until(there, phase.name, _PATIENCE)
        return
    await _run_control_command(ground, "pause")

    async def parked() -> bool:
        status = await run.status()
        described = await run.describe()
        return status.state == "paused" and not described.raw_description.pending_activities

    await until(parked, phase.name, _PATIENCE)


async def _run_control_command(ground: DebugGround, command: str) -> None:
    done = await asyncio.to_thread(ground.shop.coterie, command, RUN, "--by", "ann")
    assert done.returncode == 0, done.stderr


async def _result(
    ground: DebugGround,
    client: Client,
    worker: Running,
    kills: Sequence[float],
    met: Sequence[Phase],
    wrong: list[str],
) -> Mended:
    """Wait for the end, and read everything that was written down."""
    end = await asyncio.wait_for(Run(client, RUN).end(), _PATIENCE)
    await asyncio.wait_for(asyncio.to_thread(worker.wait), _PATIENCE)
    folder = ground.shop.folder
    asked, calls = read_log(folder / "calls.jsonl"), list[Call]()
    async for history in links(client, RUN):
        part = calls_of(history)
        calls += part
        wrong += check_calls(RUN, history.run_id or "", part, asked, kills)
    again = sum(call.attempts > 1 for call in calls)
    if again < len(met):
        wrong.append(f"{len(met)} kills in a call, but only {again} calls have a second attempt")
    if not end.completed:
        wrong.append(f"it did not complete: {incomplete_reason(end)}")
    if (green := ground.verdict()) != GREEN:
        wrong.append(f"afterwards, the tests say {green}")
    if (text := (folder / FILE).read_text()) != original(FILE):
        wrong.append(f"{FILE} is not as its authors wrote it")
    return Mended(
        end, calls, sum(map(len, asked.values())), ground.commits(), ground.writes(), text, wrong
    )
