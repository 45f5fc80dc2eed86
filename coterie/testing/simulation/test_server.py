"""The server of a test run: the same program as always, in memory, able to skip time.

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
from coterie.server.server_process import HOST, find_binary, free_ports, last_words
from coterie.server.temporal_client import connect
from coterie.settings import Settings, TlsFiles

_START_SECONDS = 60.0
_TRY_SECONDS = 0.02
_ANSWER_SECONDS = 3.0
"""For one try: a connection made while the server begins may never be answered."""


@asynccontextmanager
async def time_skipping_server(settings: Settings) -> AsyncGenerator[Client]:
    """A client of a server that lives as long as the block.

    Raises:
        CommandError: the server's program is missing, or does not start.
    """
    own = replace(
        settings, namespace="default", api_key=None, tls=False, tls_files=TlsFiles(), address=None
    )
    binary = find_binary(settings)
    (port,) = free_ports(1)
    with TemporaryDirectory(prefix="coterie-test-") as folder:
        process = await asyncio.to_thread(_started, binary, port, Path(folder))
        try:
            yield await _connected(own, port, process, Path(folder))
        finally:
            process.kill()
            process.wait()


def _started(binary: str, port: int, folder: Path) -> "subprocess.Popen[bytes]":
    with (folder / "server.log").open("wb") as out:
        return subprocess.Popen(
            _command(binary, port),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _command(binary: str, port: int) -> list[str]:
    values = (
        "frontend.WorkflowTimeSkippingEnabled=true",
        # How late a timer may fire; the stock second would be most of a test's time.
        'history.timerProcessorMaxTimeShift="20ms"',
        "history.transferProcessorMaxPollRPS=5000",
    )
    dynamic = [part for value in values for part in ("--dynamic-config-value", value)]
    return [
        binary,
        "server",
        "start-dev",
        "--headless",
        "--ip",
        HOST,
        "--port",
        str(port),
        "--log-level",
        "error",
        *dynamic,
    ]


async def _connected(
    settings: Settings, port: int, process: "subprocess.Popen[bytes]", folder: Path
) -> Client:
    """The client, once the server answers."""
    loop = asyncio.get_running_loop()
    until = loop.time() + _START_SECONDS
    while True:
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                return await connect(settings, f"{HOST}:{port}")
        except (CommandError, TimeoutError) as error:
            if process.poll() is not None:
                told = last_words(folder)
                raise CommandError(f"the server for the tests ended at once: {told}") from None
            if loop.time() > until:
                why = str(error) or f"nothing within {_ANSWER_SECONDS:g} s"
                raise CommandError(f"the server for the tests does not answer: {why}") from None
            await asyncio.sleep(_TRY_SECONDS)  # between two tries
