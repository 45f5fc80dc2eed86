"""The world that is killed: a project with its embedded server and worker, as users have it."""

import asyncio
import os
import random
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from tests.support.programs.command_server import Running
from tests.support.project import Project

SAMPLE = Path(__file__).parent / "project"
Target = Literal["worker", "server", "both", "mcp", "frozen worker", "frozen server"]
_WEIGHTS: dict[Target, int] = {"worker": 6, "server": 2, "both": 1}
"""How often each is killed, of nine times."""
_FREEZES: dict[Target, int] = {"frozen worker": 5, "frozen server": 2}
"""How often each is frozen (SIGSTOP), beside the kills."""
_FROZEN = (2.0, 20.0)
"""Seconds until SIGCONT: also for longer than a heartbeat may be missed."""


@dataclass(frozen=True, slots=True)
class Kill:
    """One `kill -9`; of what was frozen, the beginning or the end of it."""

    target: Target
    at: float
    """Seconds of Unix time."""


@dataclass
class Ground:
    """What lives and dies."""

    shop: Project
    chance: random.Random
    freezes: bool = False
    """Workers and server are frozen too."""
    number: int = 2
    """Of workers."""
    kills: list[Kill] = field(default_factory=list[Kill])
    deaths: list[str] = field(default_factory=list[str])
    """What nobody killed and ended all the same."""
    _workers: list[Running] = field(default_factory=list[Running])

    def open(self) -> None:
        """Start the server and the workers."""
        begun = self.shop.coterie("server")
        assert begun.returncode == 0, begun.stderr
        self._workers = [self.shop.begin("worker") for _ in range(self.number)]

    def look(self) -> None:
        """Begin a worker again that ended by itself, which it never should."""
        for worker in list(self._workers):
            code = worker.poll()
            if code is not None:
                words = self.shop.log("worker").strip().splitlines()[-1:]
                self.deaths.append(f"a worker ended by itself with {code}: {' '.join(words)}")
                self._workers.remove(worker)
                self._workers.append(self.shop.begin("worker"))

    async def kill_one(self) -> Kill:
        """`kill -9` or SIGSTOP of something; a killed worker is begun again after a moment.

        The server comes back by itself: whoever uses it brings it back. Often it is done while a
        command that must not run twice is at work: that hurts most.
        """
        if self.chance.random() < 0.4:
            await self._command_at_work()
        weights = _WEIGHTS | (_FREEZES if self.freezes else {})
        [target] = self.chance.choices(list(weights), list(weights.values()))
        kill = Kill(target, time.time())
        self.kills.append(kill)
        match target:
            case "frozen worker":
                await self._freeze(self.chance.choice(self._workers).pid, target)
            case "frozen server":
                await self._freeze(int(cast("int", self.shop.server["pid"])), target)
            case _:
                await self._kill(target, self.chance)
        return kill

    async def strike(self, target: Target, chance: random.Random) -> Kill:
        """`kill -9` of this; a worker is begun again after a moment."""
        kill = Kill(target, time.time())
        self.kills.append(kill)
        await self._kill(target, chance)
        return kill

    async def _kill(self, target: Target, chance: random.Random) -> None:
        if target == "mcp":
            self._kill_mcp_server(chance)
            return
        if target != "worker":
            self._kill_server()
        if target != "server":
            worker = self._workers.pop(chance.randrange(len(self._workers)))
            worker.kill()
            worker.wait()
            await asyncio.sleep(chance.choice((0, 0, 1, 3)))
            self._workers.append(self.shop.begin("worker"))

    async def _freeze(self, pid: int, target: Target) -> None:
        with suppress(ProcessLookupError):  # dead already, and not yet back
            os.kill(pid, signal.SIGSTOP)
            try:
                await asyncio.sleep(self.chance.uniform(*_FROZEN))
            finally:
                os.kill(pid, signal.SIGCONT)
                self.kills.append(Kill(target, time.time()))

    async def _command_at_work(self) -> None:
        """Wait a while for a command that holds its lock, and for a moment of its work."""
        calls = self.shop.folder / ".coterie" / "calls"
        end = time.monotonic() + 10
        while time.monotonic() < end:
            if calls.exists() and any(calls.iterdir()):
                await asyncio.sleep(self.chance.uniform(0, 1.5))
                return
            await asyncio.sleep(0.1)  # between two looks

    def mcp_servers(self) -> list[int]:
        """Every MCP server of the project that was started so far: their process ids."""
        begun = self.shop.folder / "depots.txt"
        return [int(line) for line in begun.read_text().splitlines()] if begun.exists() else []

    def _kill_mcp_server(self, chance: random.Random) -> None:
        alive = [pid for pid in self.mcp_servers() if _is_mcp_server(pid)]
        if alive:
            with suppress(ProcessLookupError):
                os.kill(chance.choice(alive), signal.SIGKILL)

    def _kill_server(self) -> None:
        with suppress(ProcessLookupError, TypeError):  # dead already, and not yet back
            self.shop.kill_server()


def _is_mcp_server(pid: int) -> bool:
    """Whether the process still lives, and is no other one by now."""
    try:
        return b"depot.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
