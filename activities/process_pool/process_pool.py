"""Run work in child processes: warm, at low priority, within limits, and ended with their call.

A few processes run at once, and the others wait. Each run gets the same share of the CPU, however
many calls it makes, and a new call begins at once: short calls hardly wait.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from coterie.activities.process_pool.work import Given, Result, Work, WorkEnded
from coterie.activities.process_pool.work_messages import (
    SEPARATOR,
    WORK_REPLY,
    MissingModule,
    OutOfMemory,
    WorkDone,
    WorkOutcome,
    WorkRaised,
)
from coterie.activities.processes.child_process import (
    ChildEnded,
    ChildProcess,
    ReplyTooLarge,
    kill_child,
)
from coterie.activities.threads.run_shares import RunShares, run_of_call

SLICE = 0.1
"""Seconds between two looks at whose turn it is."""
ADVANCE = 5.0
"""Seconds that a run has in advance of the others when its first call begins: enough for an
ordinary call on a machine that is busy with other things."""


_MAX_REMEMBERED = 1_000
"""Runs whose time is remembered while others have calls."""


class Pausable(Protocol):
    """A process that can wait."""

    def set_paused(self, paused: bool) -> None:
        """Let it wait, or continue."""
        ...


@dataclass(eq=False, slots=True)
class CpuTurn:
    """A call that runs or waits."""

    run: str
    process: Pausable
    since: float
    """Since when its time is not yet counted."""
    used: float = 0.0
    """Seconds that it has run."""
    runs: bool = True


class CpuTurns:
    """Decides whose turn it is, on as many cores as there are."""

    def __init__(self, cores: int) -> None:
        """Take the number of processes that may run at once."""
        self._cores = cores
        self._turns: list[CpuTurn] = []
        self._used: dict[str, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    @contextmanager
    def turn(self, run: str, process: Pausable) -> Generator[None]:
        """Let a process run in turns within the block."""
        self._count()
        active = {other.run: self._used[other.run] for other in self._turns}
        if not active or len(self._used) > _MAX_REMEMBERED:
            self._used = active
        least = min(active.values(), default=ADVANCE) - ADVANCE
        self._used[run] = max(self._used.get(run, least), least)
        turn = CpuTurn(run, process, asyncio.get_running_loop().time())
        self._turns.append(turn)
        self._decide()
        try:
            yield
        finally:
            self._count()
            self._turns.remove(turn)
            if not turn.runs:
                process.set_paused(False)
            self._decide()

    def _count(self) -> None:
        now = asyncio.get_running_loop().time()
        for turn in self._turns:
            if turn.runs:
                turn.used += now - turn.since
                self._used[turn.run] += now - turn.since
            turn.since = now

    def _decide(self) -> None:
        now = asyncio.get_running_loop().time()
        chosen = choose(self._turns, self._used, self._cores)
        for turn in self._turns:
            runs = turn in chosen
            if runs is not turn.runs:
                turn.runs, turn.since = runs, now
                turn.process.set_paused(not runs)
        if len(self._turns) > self._cores and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SLICE, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._count()
        self._decide()


def choose(turns: Sequence[CpuTurn], used: dict[str, float], cores: int) -> list[CpuTurn]:
    """Return the turns that come next: those of the runs that have used least, then its least used.

    Args:
        turns: In the order in which they began.
        used: Seconds that each run has used.
        cores: How many to return.
    """
    ahead = dict(used)
    candidates, chosen = list(turns), list[CpuTurn]()
    while candidates and len(chosen) < cores:
        least = min(candidates, key=lambda turn: (ahead[turn.run], turn.used))
        ahead[least.run] += SLICE
        candidates.remove(least)
        chosen.append(least)
    return chosen


MAX_CHILDREN = 32
"""Calls in progress; only one on each core runs, and the others are paused."""

MAX_STARTS = 24
"""Those of them that are done once for each run that starts, and so belong to as many runs."""

PER_RUN = 2
"""Calls in progress of one run; further ones wait."""

_MAX_REPLY = 64_000_000
"""Bytes; an answer of a model may have 20 MB."""
_CHILD = "coterie.activities.process_pool.pool_child"


class ProcessPool:
    """The processes of one worker for work that takes long, or whose input is not trusted."""

    def __init__(self, cores: int | None = None) -> None:
        """Take how many processes may run at once; default: one on each core."""
        self._cores = cores or _usable_cores()
        self._shares = RunShares(MAX_CHILDREN, PER_RUN)
        self._starts = RunShares(MAX_STARTS, PER_RUN)
        self._turns = CpuTurns(self._cores)
        self._idle: list[ChildProcess] = []

    async def run(self, work: Work[Given, Result], given: Given, cpu: int | None = None) -> Result:
        """Run one call in a process; cancellation kills it.

        Args:
            work: The function.
            given: Its input.
            cpu: Seconds of CPU that this call may use.

        Raises:
            WorkEnded: It exceeded a limit, or its process failed.
            ModuleNotFoundError: It needs a module that is not installed.
        """
        run, seconds = run_of_call(), work.cpu if cpu is None else cpu
        head = SEPARATOR.join((work.name.encode(), b"%d" % seconds, b""))
        line = head + work.given.dump_json(given) + b"\n"
        starts = self._starts.place(run) if work.is_start else nullcontext()
        async with starts, self._shares.place(run):
            match await self._outcome(line, run, seconds):
                case WorkDone(result=result):
                    return work.result.validate_python(result)
                case OutOfMemory():
                    why = f"it needs more than {work.memory >> 20} MB of memory"
                    raise WorkEnded(why, "memory")
                case MissingModule(name=name):
                    raise ModuleNotFoundError(f"No module named {name!r}", name=name)
                case WorkRaised(reason=reason):
                    raise RuntimeError(f"{work.function} raised {reason}")

    async def _outcome(self, line: bytes, run: str, cpu: int) -> WorkOutcome:
        child = await self._child()
        is_whole = False
        try:
            with self._turns.turn(run, child):
                outcome = WORK_REPLY.validate_json(await child.call(line)).outcome
            is_whole = not isinstance(outcome, OutOfMemory)
            return outcome
        except ChildEnded as end:
            if end.by is signal.SIGXCPU:
                raise WorkEnded(f"it needs more than {cpu} s of CPU", "cpu") from None
            raise WorkEnded(f"its process {end}") from None
        except ReplyTooLarge:
            raise WorkEnded(f"its result has more than {_MAX_REPLY:,} bytes", "memory") from None
        finally:
            if is_whole and child.alive and len(self._idle) < self._cores:
                self._idle.append(child)
            else:
                await kill_child(child)

    async def _child(self) -> ChildProcess:
        while self._idle:
            child = self._idle.pop()
            if child.alive:
                return child
            await kill_child(child)
        path = [part for part in sys.path if part]
        try:
            return await ChildProcess.start(
                _CHILD, path, {}, Path("/"), apart=True, max_reply=_MAX_REPLY
            )
        except OSError as error:
            raise WorkEnded(f"its process could not start: {error.strerror}") from None

    async def close(self) -> None:
        """Kill the idle processes; busy ones end with their calls."""
        idle, self._idle = self._idle, []
        for child in idle:
            await kill_child(child)


def _usable_cores() -> int:
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
