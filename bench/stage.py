"""The stage: one real dev server, and a worker process for each kind of worker."""

import asyncio
import json
import sys
import sysconfig
from collections.abc import AsyncGenerator, Awaitable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from temporalio.testing import WorkflowEnvironment

from bench import loop
from bench.systems import WorkerKind

POLL_RATE = "history.transferProcessorMaxPollRPS=5000"
"""Without it the dev server lets one sequential loop do 20 steps a second."""

PROGRAM = (sys.executable, "-m", "bench.worker")
"""Runs a worker of Coterie or of the hand-written workflows."""

T = TypeVar("T")

_ENDED = "a worker ended while it was measured; its errors are above"
_QUIET_SECONDS = 0.05
_QUIET_CPU_SECONDS = 0.001


class WorkerProcess:
    """A running `bench.worker`."""

    def __init__(self, process: asyncio.subprocess.Process, queue: str) -> None:
        self._process = process
        self._ended = asyncio.create_task(process.wait())
        self.queue = queue

    @classmethod
    async def start(
        cls, kind: str, address: str, script: Path, program: Sequence[str] = PROGRAM
    ) -> "WorkerProcess":
        """Start it and wait until it takes work."""
        queue = f"bench-{kind[:4]}"  # equally long: the name stands in histories
        process = await asyncio.create_subprocess_exec(
            *program,
            kind,
            address,
            queue,
            str(script),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        started = cls(process, queue)
        if await started._line() != "ready":
            raise RuntimeError(f"the worker of {kind} did not start")
        return started

    async def stop(self) -> None:
        """End it with the end of its input."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._ended

    async def kill(self) -> None:
        """End it with SIGKILL, in the middle of what it does."""
        self._process.kill()
        await self._ended

    async def alive_for(self, work: Awaitable[T]) -> T:
        """What the work comes to.

        Raises:
            RuntimeError: the worker ended meanwhile, so it would never come to anything.
        """
        task = asyncio.ensure_future(work)
        await asyncio.wait([task, self._ended], return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            raise RuntimeError(_ENDED)
        return task.result()

    async def cpu(self) -> float:
        """CPU seconds used so far, once what the last run left to do is done."""
        before = await self._cpu()
        while True:
            await asyncio.sleep(_QUIET_SECONDS)
            after = await self._cpu()
            if after - before < _QUIET_CPU_SECONDS:
                return after
            before = after

    async def memory(self) -> float:
        """Bytes that are resident, once its garbage is collected."""
        return await self._seconds_to_answer(b"memory\n")

    def peak_memory(self) -> float:
        """Megabytes that were resident at most, as Linux counts them."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024

    async def _cpu(self) -> float:
        return await self._seconds_to_answer(b"cpu\n")

    async def _seconds_to_answer(self, question: bytes) -> float:
        assert self._process.stdin is not None
        self._process.stdin.write(question)
        return float(await self._line())

    async def _line(self) -> str:
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            raise RuntimeError(_ENDED)
        return line.decode().strip()


@asynccontextmanager
async def server(database: str | None = None) -> AsyncGenerator[str]:
    """A dev server: its address.

    Args:
        database: a file for its SQLite; in memory without one.
    """
    async with await WorkflowEnvironment.start_local(  # pyright: ignore[reportUnknownMemberType]
        dev_server_existing_path=str(Path(sysconfig.get_path("scripts")) / "temporal"),
        dev_server_database_filename=database,
        dev_server_extra_args=["--dynamic-config-value", POLL_RATE],
        dev_server_startup_timeout=timedelta(minutes=1),
    ) as environment:
        yield environment.client.service_client.config.target_host


@asynccontextmanager
async def stage(
    kinds: Iterable[WorkerKind], database: str | None = None
) -> AsyncGenerator[tuple[str, dict[WorkerKind, WorkerProcess]]]:
    """A server and its workers: the server's address and `{kind: worker}`.

    Args:
        kinds: of workers to start.
        database: a file for the server's SQLite; in memory without one.
    """
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        script = folder / "answers.yml"
        script.write_text(json.dumps(loop.SCRIPT))
        address = await stack.enter_async_context(server(database))
        workers: dict[WorkerKind, WorkerProcess] = {}
        for kind in kinds:
            workers[kind] = await WorkerProcess.start(kind, address, script)
            stack.push_async_callback(workers[kind].stop)
        yield address, workers
