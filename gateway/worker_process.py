"""A worker of the project beside the gateway, as a process of its own."""

import asyncio
import os
import subprocess
import sys
from asyncio.subprocess import Process
from pathlib import Path

from temporalio.client import Client
from temporalio.service import RPCError

from coterie.activities.os_errors import reason_of
from coterie.activities.workspace.project_files import private_opener
from coterie.failures import CommandError
from coterie.runs.task_queues import is_polled
from coterie.settings import Settings, state_folder
from coterie.terminal import note

_STOP_SECONDS = 20.0
_GRACE = "10s"
_LOG_FILE = "worker.log"


async def needs_worker(client: Client, settings: Settings) -> bool:
    """Return whether nobody polls the project's task queue; False if the server does not say."""
    try:
        return not await is_polled(client, settings.task_queue)
    except RPCError:
        return False


class WorkerProcess:
    """`coterie worker`, started by the gateway. It survives the gateway when that is killed."""

    def __init__(self, settings: Settings) -> None:
        """Take the project."""
        self._settings = settings
        self._process: Process | None = None
        self._watching: asyncio.Task[None] | None = None

    @property
    def log_file(self) -> Path:
        """Where it writes what it does."""
        return self._settings.state / _LOG_FILE

    async def start(self) -> None:
        """Start it.

        Raises:
            CommandError: The system refuses.
        """
        state_folder(self._settings)
        output = await asyncio.to_thread(self._open_log)
        try:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "coterie", "worker", "--grace", _GRACE),
                cwd=self._settings.cwd,
                env=dict(self._settings.environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        except OSError as error:
            raise _not_started(error) from None
        finally:
            os.close(output)
        self._watching = asyncio.create_task(self._report_end(self._process))

    async def restart(self) -> None:
        """Stop it, and start it again: it then reads the configuration of the project anew.

        Raises:
            CommandError: The system refuses.
        """
        await self.stop()
        await self.start()

    def _open_log(self) -> int:
        try:
            return private_opener(str(self.log_file), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        except OSError as error:
            raise _not_started(error) from None

    async def _report_end(self, process: Process) -> None:
        """Wait until it ends by itself, and say so."""
        code = await process.wait()
        note(f"the worker has ended (exit code {code}): see {self.log_file}")

    async def stop(self) -> None:
        """Stop it; calls in progress get some seconds."""
        if self._watching is not None:
            self._watching.cancel()
        process = self._process
        if process is None or process.returncode is not None:
            return
        process.terminate()
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()


def _not_started(error: OSError) -> CommandError:
    return CommandError(f"could not start a worker: {reason_of(error)}")
