"""Run work in child processes: warm, at low priority, within limits, and ended with their call."""

import os
import signal
import sys
from contextlib import nullcontext
from pathlib import Path

from coterie.activities.process_pool.cpu_turns import CpuTurns
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
