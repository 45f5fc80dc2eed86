"""The transport to a configured server: its command, or its address."""

import asyncio
import os
import re
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TextIO

import anyio
import httpx2
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client import Transport
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from coterie.activities.mcp_client.server_settings import McpServer
from coterie.activities.mcp_client.transport.call_progress import CURRENT_CALL
from coterie.activities.mcp_client.transport.error_output import ErrorOutput
from coterie.activities.mcp_client.transport.message_relay import MessageRelay
from coterie.activities.mcp_client.transport.server_auth import ServerAuth
from coterie.activities.process_exit import wait_for_exit
from coterie.activities.proxies import trusted

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
        async for session_message in session:
            text = session_message.message.model_dump_json(by_alias=True, exclude_unset=True)
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


MAX_LINE = 20_000_000
"""Bytes of one message."""

MAX_VALUES = 500_000
"""Values in one message: `{}` has two bytes, and takes thirty times as many in memory."""

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"')


def has_too_many_values(body: bytes) -> bool:
    """Return whether a message in JSON has more values than one may have."""
    if _separators(body) <= MAX_VALUES:
        return False
    return _separators(_STRING.sub(b"", body)) > MAX_VALUES  # a text may have any commas


def _separators(body: bytes) -> int:
    return body.count(b",") + body.count(b"[") + body.count(b"{")


_EVENTS = "text/event-stream"
_SESSION = "Mcp-Session-Id"


class BoundedTransport(httpx2.AsyncHTTPTransport):
    """Fails an answer that is too large, or compressed although nobody asked for that."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, and return its answer with a bounded body."""
        request.headers["Accept-Encoding"] = "identity"
        response = await self._send_request(request)
        if response.headers.get("Content-Encoding", "identity") != "identity":
            await response.aclose()
            raise httpx2.ReadError("the answer is compressed")
        stream = response.stream
        if response.headers.get("Content-Type", "").startswith(_EVENTS):
            return response
        assert isinstance(stream, httpx2.AsyncByteStream)
        response.stream = _BoundedStream(stream)
        return response

    async def _send_request(self, request: httpx2.Request) -> httpx2.Response:
        call = CURRENT_CALL.get()
        try:
            response = await super().handle_async_request(request)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            if call is not None:
                call.note_unconnected()
            raise
        if call is not None:
            call.note_status(response.status_code, in_session=_SESSION in request.headers)
        return response


class _BoundedStream(httpx2.AsyncByteStream):
    """A body that fails once it is too large, and comes as a whole."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        body = bytearray()
        async for chunk in self._stream:
            body += chunk
            if len(body) > MAX_LINE:
                raise httpx2.ReadError(f"the answer has more than {MAX_LINE} bytes")
        whole = bytes(body)
        if has_too_many_values(whole):
            raise httpx2.ReadError(f"the answer has more than {MAX_VALUES} values")
        yield whole

    async def aclose(self) -> None:
        await self._stream.aclose()


async def server_transport(
    server: McpServer,
    stack: AsyncExitStack,
    errors: ErrorOutput,
    relay: MessageRelay,
    broken: Callable[[str], None],
    auth: ServerAuth | None,
) -> Transport:
    """Return the transport to a server.

    Args:
        server: As configured.
        stack: Holds what the transport needs.
        errors: Keeps the end of the standard error of a command.
        relay: Passes the messages on, and notes the end of the connection.
        broken: Called with the reason when a command writes more than a line may have.
        auth: Adds access tokens to requests.
    """
    section = server.section
    if section.url is None:
        command = ServerCommand(
            section.command, {**server.environment, **server.values}, server.folder
        )
        file = stack.enter_context(errors.taken())
        return relay.relayed(bounded_stdio(command, file, broken))
    http = httpx2.AsyncClient(
        headers=server.headers,
        auth=auth,
        timeout=httpx2.Timeout(section.start_timeout, read=None),
        transport=BoundedTransport(trusted(environment=False)),
        trust_env=False,
    )
    client = await stack.enter_async_context(http)
    return relay.relayed(streamable_http_client(section.url, http_client=client))
