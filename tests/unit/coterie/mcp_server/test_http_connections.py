"""Half requests and strangers over HTTP, against the real server on this machine."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

import httpx2
import pytest
from mcp.server import Server

from coterie.http_server.http_connections import ConnectionLimits
from coterie.http_server.http_listener import listener
from coterie.mcp_server.http_protocol import speak_http

pytestmark = pytest.mark.asyncio(loop_scope="function")  # whose end is the end of the server

TOKEN = "a-token-of-this-test"
HEADER = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n"
AUTHORIZED = f"{HEADER}Authorization: Bearer {TOKEN}\r\nContent-Length: 10\r\n"
WHOLE = f"GET /no HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
HALF = {
    "nothing": "",
    "half a line": "POST /m",
    "half a header": HEADER,
    "half a header with the token": AUTHORIZED,
    "half a body with the token": f"{AUTHORIZED}Content-Type: application/json\r\n\r\n{{",
    "a header in chunks without an end": f"{AUTHORIZED}X: y",
    "half a second request": f"{WHOLE}POST /m",
}

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def serving(limits: ConnectionLimits | None = None) -> AsyncGenerator[int]:
    """A server; its port."""
    with listener(0) as at:
        task = asyncio.create_task(speak_http(Server("it"), at, TOKEN, limits))
        try:
            yield at.getsockname()[1]
        finally:
            task.cancel()
            await asyncio.wait([task])


@asynccontextmanager
async def connected(port: int, text: str, local: str = "127.0.0.1") -> AsyncGenerator[Streams]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(local, 0))
    writer.write(text.encode())
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def status(port: int, token: str = TOKEN) -> int:
    """Ask for a page that does not exist, over a connection of its own."""
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60) as http:
        return (await http.get(f"http://127.0.0.1:{port}/no")).status_code


async def test_half_requests_of_strangers_take_no_place_of_an_authorized_client() -> None:
    async with serving() as port, AsyncExitStack() as stack:
        for number in range(500):
            await stack.enter_async_context(connected(port, HEADER, f"127.0.0.{number % 5 + 1}"))
        assert await status(port) == 404
        assert await status(port, "another-token-of-somebody") == 401


@pytest.mark.parametrize("text", HALF.values(), ids=HALF)
async def test_a_request_that_does_not_arrive_ends_its_connection(text: str) -> None:
    limits = ConnectionLimits(header=0.3, body=0.3)
    async with serving(limits) as port, connected(port, text) as (reader, _):
        with_answer = await asyncio.wait_for(_until_closed(reader), 60)
        assert with_answer.startswith(b"HTTP/1.1 404" if "/no" in text else b"")
        assert await status(port) == 404


async def _until_closed(reader: asyncio.StreamReader) -> bytes:
    found = b""
    try:
        while chunk := await reader.read(1000):
            found += chunk
    except ConnectionResetError:
        pass
    return found


async def test_data_does_not_extend_the_time_of_a_request() -> None:
    async with serving(ConnectionLimits(header=0.3)) as port, connected(port, HEADER) as streams:
        reader, writer = streams
        closed = asyncio.create_task(_until_closed(reader))
        while not closed.done():
            writer.write(b"X: y\r\n")
            await asyncio.wait([closed], timeout=0.05)  # a slow client
        assert not closed.result().startswith(b"HTTP/1.1 2")


UNREADABLE = {
    "a line": ("GET /" + "a" * 400_000, b"HTTP/1.1 414 "),
    "a header": (f"{HEADER}X: " + "a" * 400_000, b"HTTP/1.1 431 "),
    "no HTTP": ("\x16\x03\x01" + "a" * 400_000, b"HTTP/1.1 4"),
    "the body of a stranger": (
        f"{HEADER}Content-Length: 9000000\r\n\r\n" + "a" * 9_000_000,
        b"HTTP/1.1 401 ",
    ),
    "half a body": (f"{WHOLE[:-2]}Transfer-Encoding: chunked\r\n\r\nnone\r\n", b"HTTP/1.1 40"),
}


@pytest.mark.parametrize(("text", "expected"), UNREADABLE.values(), ids=UNREADABLE)
async def test_the_client_reads_why_its_request_is_refused(text: str, expected: bytes) -> None:
    async with serving() as port, connected(port, text) as (reader, writer):
        answer = await asyncio.wait_for(reader.read(), 60)  # raises if the server resets it
        assert answer.startswith(expected)
        assert b"connection: close" in answer.lower()
        writer.write(b"and more")
        assert await status(port) == 404


async def test_who_keeps_sending_after_a_refusal_is_cut() -> None:
    limits = ConnectionLimits(unread=0.2)
    async with (
        serving(limits) as port,
        connected(port, UNREADABLE["a line"][0]) as (reader, writer),
    ):
        assert await asyncio.wait_for(reader.read(), 60)
        while not writer.is_closing():
            writer.write(b"and more")
            await asyncio.sleep(0.02)


async def test_a_stranger_s_connection_ends_with_its_refusal() -> None:
    request = (
        "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n"
    )
    async with serving() as port, connected(port, request) as (reader, _):
        answer = await _until_closed(reader)
        assert answer.startswith(b"HTTP/1.1 401")
        assert b"connection: close" in answer.lower()


async def test_one_authorized_connection_too_many_is_refused() -> None:
    async with (
        serving(ConnectionLimits(authorized=1)) as port,
        connected(port, WHOLE) as (reader, _),
    ):
        assert (await reader.readline()).startswith(b"HTTP/1.1 404")
        assert await status(port) == 503


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "it", "version": "1"},
    },
}


async def test_the_oldest_idle_session_makes_room_for_the_next() -> None:
    async with (
        serving(ConnectionLimits(sessions=3)) as port,
        httpx2.AsyncClient(trust_env=False, timeout=60) as http,
    ):
        address = f"http://127.0.0.1:{port}/mcp"
        accept = "application/json, text/event-stream"
        headers = {"Authorization": f"bearer {TOKEN}", "Accept": accept}

        async def opened() -> str:
            answer = await http.post(address, json=INITIALIZE, headers=headers)
            return answer.headers["mcp-session-id"]

        async def known(session: str) -> bool:
            ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
            own = {**headers, "Mcp-Session-Id": session}
            return (await http.post(address, json=ping, headers=own)).status_code == 200

        busy, vanished, used = [await opened() for _ in range(3)]
        own = {**headers, "Mcp-Session-Id": busy}
        async with http.stream("GET", address, headers=own) as listening:
            assert listening.status_code == 200
            assert await known(used)
            latest = await opened()
            assert [await known(one) for one in (vanished, used, latest)] == [False, True, True]
            others = [await opened() for _ in range(2)]
            assert [await known(one) for one in others] == [True, True]
            assert not await known(used)
            assert await known(busy)
