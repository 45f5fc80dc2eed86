"""Let a few processes run at once, and the others wait: the CPU is shared between runs.

Each run gets the same share, however many calls it makes, and a call that comes new begins at once:
short calls hardly wait, however many long ones there are.
"""

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

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
    left, chosen = list(turns), list[CpuTurn]()
    while left and len(chosen) < cores:
        least = min(left, key=lambda turn: (ahead[turn.run], turn.used))
        ahead[least.run] += SLICE
        left.remove(least)
        chosen.append(least)
    return chosen
