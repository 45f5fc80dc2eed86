"""Run the test server: the usual program, in memory, with time skipping.

Each run on it has a clock of its own (`clock.py`), so many tests share one server.
"""

import asyncio
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from temporalio.client import Client

from coterie.failures import CommandError
from coterie.server.connection import connect
from coterie.server.server_process import (
    HOST,
    find_binary,
    free_ports,
    last_words,
    start_dev_server,
)
from coterie.settings import Settings, TlsFiles

_START_SECONDS = 60.0
_TRY_SECONDS = 0.02
_ANSWER_SECONDS = 3.0
"""Timeout of one attempt: a connection made during the server's start may never be answered."""


@asynccontextmanager
async def time_skipping_server(settings: Settings) -> AsyncGenerator[Client]:
    """Start a server for the duration of the block, and return a client.

    Raises:
        CommandError: The server's program is missing, or does not start.
    """
    own = replace(
        settings, namespace="default", api_key=None, tls=False, tls_files=TlsFiles(), address=None
    )
    binary = find_binary(settings)
    (port,) = free_ports(1)
    with TemporaryDirectory(prefix="coterie-test-") as folder:
        process = await asyncio.to_thread(_start_server, binary, port, own, Path(folder))
        try:
            yield await _connect_when_ready(own, port, process, Path(folder))
        finally:
            process.kill()
            process.wait()


def _start_server(
    binary: str, port: int, settings: Settings, folder: Path
) -> "subprocess.Popen[bytes]":
    with (folder / "server.log").open("wb") as log:
        options = ("--headless", "--log-level", "error")
        return start_dev_server(binary, port, folder, settings, log, options, _DYNAMIC_CONFIG)


_DYNAMIC_CONFIG = (
    "frontend.WorkflowTimeSkippingEnabled=true",
    # Maximum delay of timers; the default second would be most of a test's time.
    'history.timerProcessorMaxTimeShift="20ms"',
    "history.transferProcessorMaxPollRPS=5000",
    # Each case has a queue and a worker of its own, so more partitions only forward its tasks.
    "matching.numTaskqueueReadPartitions=1",
    "matching.numTaskqueueWritePartitions=1",
)


async def _connect_when_ready(
    settings: Settings, port: int, process: "subprocess.Popen[bytes]", folder: Path
) -> Client:
    """Return the client once the server answers."""
    loop = asyncio.get_running_loop()
    until = loop.time() + _START_SECONDS
    while True:
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                return await connect(settings, f"{HOST}:{port}")
        except (CommandError, TimeoutError) as error:
            if process.poll() is not None:
                last_output = last_words(folder)
                raise CommandError(f"the test server exited at startup: {last_output}") from None
            if loop.time() > until:
                why = str(error) or f"no answer within {_ANSWER_SECONDS:g} s"
                raise CommandError(f"the test server does not answer: {why}") from None
            await asyncio.sleep(_TRY_SECONDS)  # between two attempts
