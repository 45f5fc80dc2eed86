"""What an MCP client sends on standard input."""

import asyncio
import os
import threading
from collections.abc import Generator
from typing import TextIO

import anyio
import pytest

from coterie.mcp_server.client_protocols import MAX_MESSAGE, ClientInput


@pytest.fixture
def pipe() -> Generator[tuple[TextIO, TextIO]]:
    """What the server reads, and what the client writes."""
    source, target = os.pipe()
    with open(source, encoding="utf-8") as server, open(target, "w", encoding="utf-8") as client:
        yield server, client


async def test_an_endless_line_is_cut_and_the_next_message_arrives(
    pipe: tuple[TextIO, TextIO],
) -> None:
    server, client = pipe

    def send() -> None:
        client.write('{"id": 1}\n' + "x" * (2 * MAX_MESSAGE + 7) + '\n{"id": 2}\nno newline')
        client.close()

    sending = threading.Thread(target=send)
    sending.start()
    received = [line async for line in ClientInput(server)]
    sending.join()
    beginnings = [line[:20].strip() for line in received]
    assert beginnings == ['{"id": 1}', "x" * 20, '{"id": 2}', "no newline"]
    assert max(map(len, received)) == MAX_MESSAGE


async def test_a_wait_for_a_silent_client_can_be_cancelled(pipe: tuple[TextIO, TextIO]) -> None:
    server, client = pipe
    received: list[str] = []

    async def receive() -> None:
        received.append(await ClientInput(server).readline())

    hang_up = asyncio.get_running_loop().call_later(30, client.close)
    async with anyio.create_task_group() as group:
        group.start_soon(receive)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    hang_up.cancel()
    assert received == []
    client.close()
