"""Servers whose answer has no end, or only after it is unpacked: no worker keeps it in memory."""

from collections.abc import AsyncIterator
from functools import partial

import httpx2
import pytest

from coterie.activities.contracts import FailureType
from coterie.activities.providers.bounded_answers import (
    MAX_ANSWER,
    MAX_LINE,
    MAX_STREAM,
    UnboundedAnswer,
    bounded,
)
from tests.support.servers.asking import APIS, failure
from tests.support.servers.raw_server import http, raw_server

EVENTS = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
PLAIN = b"HTTP/1.1 %d Told\r\ncontent-type: application/json\r\n\r\n"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (PLAIN % 200 + b" " * (MAX_ANSWER + 1), f"it has more than {MAX_ANSWER} bytes"),
        (PLAIN % 500 + b" " * (MAX_ANSWER + 1), f"it has more than {MAX_ANSWER} bytes"),
        (EVENTS + b"data: " + b"x" * MAX_LINE, f"a line of it has more than {MAX_LINE} bytes"),
        (http("", content_encoding="gzip"), "it is compressed"),
    ],
    ids=["plain", "error", "line", "compressed"],
)
@pytest.mark.parametrize("kind", APIS)
async def test_an_answer_larger_than_any_model_gives_is_given_up(
    kind: str, answer: bytes, reason: str
) -> None:
    async with raw_server(answer, hang=True) as server:
        failed = await failure(kind, server.url)
        assert server.requests[0].headers["accept-encoding"] == "identity"
    assert (failed.kind, failed.retryable) == (FailureType.ANSWER_UNREADABLE, False)
    assert reason in failed.message


class EndlessEvents(httpx2.AsyncBaseTransport):
    """A server that sends short events for ever."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        async def events() -> AsyncIterator[bytes]:
            while True:
                yield b"data: x\n" * 100_000

        return httpx2.Response(200, headers={"Content-Type": "text/event-stream"}, content=events())


async def test_a_stream_that_never_ends_is_given_up() -> None:
    received = 0

    async def read(response: httpx2.Response) -> None:
        nonlocal received
        async for chunk in response.aiter_bytes():
            received += len(chunk)

    async with (
        bounded(partial(httpx2.AsyncClient, transport=EndlessEvents())) as client,
        client.stream("GET", "http://model.example") as response,
    ):
        with pytest.raises(UnboundedAnswer, match=f"more than {MAX_STREAM} bytes"):
            await read(response)
    assert received <= MAX_STREAM
