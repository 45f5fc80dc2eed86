"""What is killed: a server with its database, a worker, two gateways; and the model that writes."""

import asyncio
import json
import random
import socket
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

from temporalio.client import Client

from coterie.storage.wire import data_converter
from tests.support.programs.command_server import Running
from tests.support.project import BIN, Project

StreamTarget = Literal["client", "gateway", "worker", "server"]
WEIGHTS: dict[StreamTarget, int] = {"client": 12, "gateway": 4, "worker": 2, "server": 2}
"""How often each is struck, of twenty times."""
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
_PAUSE = 0.08
_WORDS = 16


@asynccontextmanager
async def slow_model() -> AsyncGenerator[str]:
    """Yield the address of a server that speaks OpenAI's protocol, word by word."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            lines = head.lower().split(b"\r\n")
            length = next(line for line in lines if line.startswith(b"content-length:"))
            asked = json.loads(await reader.readexactly(int(length.split(b":")[1])))
            writer.write(_HEAD)
            text = answer_to(asked["messages"][-1]["content"])
            for number, word in enumerate(text.split(" ")):
                writer.write(_piece(f" {word}" if number else word, None))
                await writer.drain()
                await asyncio.sleep(_PAUSE)
            writer.write(_piece("", "stop") + b"data: [DONE]\n\n")
            await writer.drain()
        except (OSError, EOFError):
            pass  # its worker was killed
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


def answer_to(prompt: str) -> str:
    """Return the answer to a prompt, which is always the same."""
    return " ".join([prompt, *(f"w{number}" for number in range(_WORDS))])


def _piece(text: str, finish: str | None) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return f"data: {json.dumps({'model': 'paced', 'choices': [choice]})}\n\n".encode()


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@dataclass
class StreamGround:
    """Processes that die and come back."""

    shop: Project
    chance: random.Random
    continue_after: int
    """Events after which the server suggests to continue as new."""
    port: int = field(default_factory=free_port)
    gateways: dict[int, Running] = field(default_factory=dict[int, Running])
    """By their ports."""
    _server: "subprocess.Popen[bytes] | None" = None
    _worker: Running | None = None

    async def open(self) -> None:
        """Start everything."""
        self._start_server()
        await self.client()
        self._worker = self.shop.begin("worker")
        for _ in range(2):
            self._start_gateway(free_port())

    def gateway_port(self) -> int:
        """Return the port of a gateway."""
        return self.chance.choice(list(self.gateways))

    async def client(self) -> Client:
        """Return a client of the server, once it answers."""
        while True:
            try:
                return await Client.connect(f"127.0.0.1:{self.port}", data_converter=data_converter)
            except RuntimeError:
                await asyncio.sleep(0.2)  # it is just starting

    async def strike(self, target: StreamTarget) -> None:
        """`kill -9` of a process, which comes back after a moment."""
        match target:
            case "client":
                return
            case "gateway":
                port = self.gateway_port()
                _end(self.gateways.pop(port))
                self._start_gateway(port)
            case "worker":
                assert self._worker is not None
                _end(self._worker)
                await asyncio.sleep(self.chance.choice((0, 0, 1)))
                self._worker = self.shop.begin("worker")
            case "server":
                assert self._server is not None
                self._server.kill()
                self._server.wait()
                await asyncio.sleep(self.chance.choice((0, 0, 1)))
                self._start_server()

    def close(self) -> None:
        """End everything."""
        for process in (*self.gateways.values(), self._worker):
            if process is not None:
                _end(process)
        if self._server is not None:
            self._server.kill()
            self._server.wait()

    def _start_gateway(self, port: int) -> None:
        words = ("serve", "--port", str(port), "--no-worker", "--no-browser")
        self.gateways[port] = self.shop.begin(*words)

    def _start_server(self) -> None:
        log = (self.shop.folder / "temporal.log").open("ab")
        setting = f"limit.historyCount.suggestContinueAsNew={self.continue_after}"
        with log:
            self._server = subprocess.Popen(
                [
                    *(str(BIN / "temporal"), "server", "start-dev", "--headless"),
                    *("--port", str(self.port), "--log-level", "error"),
                    *("--db-filename", str(self.shop.folder / "temporal.db")),
                    *("--dynamic-config-value", setting),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )


def _end(process: Running) -> None:
    process.kill()
    process.wait()
