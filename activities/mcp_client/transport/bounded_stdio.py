"""A transport over the standard input and output of a command that reads no endless line.

The transport of the SDK collects a line until it ends, however long it is. Here a line has a bound,
and the pipe waits while the session is busy. The server is ended as the protocol says: its input is
closed, then it and its children are asked to stop, then killed.
"""

import asyncio
import os
import re
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TextIO

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage

from coterie.activities.mcp_client.transport.message_bounds import (
    MAX_LINE,
    MAX_VALUES,
    has_too_many_values,
)
from coterie.activities.process_exit import wait_for_exit

_GRACE = 2.0
"""Seconds for a server to end by itself, and again after it was asked to."""

_HALF = re.compile(
    r"(?<!\\)((?:\\\\)*)"  # an even number of backslashes: the next one begins an escape
    r"(?:\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|"
    r"(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)
"""Half of a character, which servers send that cut a text in its middle."""

Incoming = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]


class ServerCommand(NamedTuple):
    """How a server is started."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    """Beside a few harmless variables of the login."""
    folder: Path


@asynccontextmanager
async def bounded_stdio(
    command: ServerCommand, errors: TextIO, broken: Callable[[str], None]
) -> AsyncGenerator[Streams]:
    """Start a server, and exchange messages with it; end it with the block.

    Args:
        command: Of the server.
        errors: The file for its standard error.
        broken: Called with the reason when the server writes more than a line may have.

    Raises:
        OSError: It cannot be started.
    """
    lines = asyncio.StreamReader(limit=MAX_LINE)
    source, target = os.pipe()
    pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), os.fdopen(source, "rb")
    )
    try:
        try:
            process = await _start_process(command, target, errors)
        finally:
            os.close(target)
        to_session, incoming = anyio.create_memory_object_stream[Incoming](0)
        outgoing, from_session = anyio.create_memory_object_stream[SessionMessage](0)
        reading = asyncio.create_task(_read(lines, to_session, broken))
        writing = asyncio.create_task(_write(process, from_session, to_session))
        try:
            yield incoming, outgoing
        finally:
            incoming.close()
            outgoing.close()
            try:
                with anyio.CancelScope(shield=True):  # or its process would stay
                    await _end(process, writing)
            finally:
                reading.cancel()
                writing.cancel()
                to_session.close()
                from_session.close()
    finally:
        pipe.close()


async def _start_process(command: ServerCommand, output: int, errors: TextIO) -> Process:
    return await asyncio.create_subprocess_exec(
        *command.argv,
        cwd=command.folder,
        env={**get_default_environment(), **command.environment},
        stdin=PIPE,
        stdout=output,
        stderr=errors,
        start_new_session=True,
    )


async def _read(
    lines: asyncio.StreamReader,
    session: MemoryObjectSendStream[Incoming],
    broken: Callable[[str], None],
) -> None:
    """Pass messages on until the output ends; then read on without keeping anything."""
    try:
        while line := await lines.readline():
            if has_too_many_values(line):
                broken(f"a line of its output has more than {MAX_VALUES} values")
                break
            await session.send(_message(line))
    except ValueError:  # how the reader reports a line over its limit
        broken(f"a line of its output has more than {MAX_LINE} bytes")
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass  # the session has ended; a server that still writes must be able to end as well
    session.close()
    while await lines.read(65_536):
        pass


def _message(line: bytes) -> Incoming:
    text = line.decode(errors="replace")
    message = _parse_message(text)
    if isinstance(message, ValueError):
        return _parse_message(_HALF.sub(r"\1\\ufffd", text))
    return message


def _parse_message(text: str) -> Incoming:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(text, by_name=False))
    except ValueError as error:
        return error


async def _write(
    process: Process,
    session: MemoryObjectReceiveStream[SessionMessage],
    ends: MemoryObjectSendStream[Incoming],
) -> None:
    """Send messages until the session ends, or the server takes none."""
    assert process.stdin is not None
    try:
        async for one in session:
            text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(f"{text}\n".encode())
            await process.stdin.drain()
    except OSError:
        ends.close()  # or a request waits forever


async def _end(process: Process, writing: "asyncio.Task[None]") -> None:
    """End a server and all its children."""
    assert process.stdin is not None
    await asyncio.wait({writing}, timeout=_GRACE / 4)  # what is written already should arrive
    process.stdin.close()
    for number in (None, signal.SIGTERM):
        if number is not None:
            _signal(process, number)
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE):
                await wait_for_exit(process)
                break
    _signal(process, signal.SIGKILL)
    await wait_for_exit(process)


def _signal(process: Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
