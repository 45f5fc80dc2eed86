"""The world that is killed: a project with its embedded server and worker, as users have it."""

import asyncio
import random
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tests.support.project import Project

SAMPLE = Path(__file__).parent / "project"
Target = Literal["worker", "server", "both"]
_WEIGHTS: dict[Target, int] = {"worker": 6, "server": 2, "both": 1}
"""How often each is killed, of nine times."""


@dataclass(frozen=True, slots=True)
class Kill:
    """One `kill -9`."""

    target: Target
    at: float
    """Seconds of Unix time."""


@dataclass
class Ground:
    """What lives and dies."""

    shop: Project
    chance: random.Random
    kills: list[Kill] = field(default_factory=list[Kill])
    deaths: list[str] = field(default_factory=list[str])
    """What nobody killed and ended all the same."""
    _worker: "subprocess.Popen[bytes] | None" = None

    def open(self) -> None:
        """Start the server and the worker."""
        begun = self.shop.coterie("server")
        assert begun.returncode == 0, begun.stderr
        self._worker = self.shop.begin("worker")

    def look(self) -> None:
        """Begin the worker again when it ended by itself, which it never should."""
        if self._worker is None:
            return  # it is being killed
        code = self._worker.poll()
        if code is not None:
            words = self.shop.log("worker").strip().splitlines()[-1:]
            self.deaths.append(f"the worker ended by itself with {code}: {' '.join(words)}")
            self._worker = self.shop.begin("worker")

    async def kill_one(self) -> Kill:
        """`kill -9` of something, and the worker begun again after a moment.

        The server comes back by itself: whoever uses it brings it back. Often it is done while a
        command that must not run twice is at work: that hurts most.
        """
        if self.chance.random() < 0.4:
            await self._command_at_work()
        [target] = self.chance.choices(list(_WEIGHTS), list(_WEIGHTS.values()))
        kill = Kill(target, time.time())
        if kill.target != "worker":
            self._kill_server()
        if kill.target != "server":
            worker, self._worker = self._worker, None
            assert worker is not None
            worker.kill()
            worker.wait()
            await asyncio.sleep(self.chance.choice((0, 0, 1, 3)))
            self._worker = self.shop.begin("worker")
        self.kills.append(kill)
        return kill

    async def _command_at_work(self) -> None:
        """Wait a while for a command that holds its lock, and for a moment of its work."""
        calls = self.shop.folder / ".coterie" / "calls"
        end = time.monotonic() + 10
        while time.monotonic() < end:
            if calls.exists() and any(calls.iterdir()):
                await asyncio.sleep(self.chance.uniform(0, 1.5))
                return
            await asyncio.sleep(0.1)  # between two looks

    def _kill_server(self) -> None:
        with suppress(ProcessLookupError, TypeError):  # dead already, and not yet back
            self.shop.kill_server()
