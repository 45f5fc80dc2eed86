"""A model server of Chat Completions whose answers a test writes piece by piece."""

import json
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from typing import ClassVar

from pydantic import JsonValue

_BROKEN: dict[str, JsonValue] = {}


class StreamedModel:
    """Answers each request with the next pieces that the test gives, until it ends the answer."""

    def __init__(self) -> None:
        self.asked: Queue[dict[str, JsonValue]] = Queue()
        """The bodies of the requests, as they come."""
        self._pieces: Queue[dict[str, JsonValue] | None] = Queue()
        self.url = ""

    def say(self, text: str) -> None:
        """Add to the answer in progress, or to the next one."""
        self._pieces.put({"delta": {"content": text}})

    def think(self, text: str) -> None:
        """Show some thinking before the answer."""
        self._pieces.put({"delta": {"reasoning_content": text}})

    def call(self, tool: str, arguments: str) -> None:
        """Ask for a tool."""
        function: JsonValue = {"name": tool, "arguments": arguments}
        asked: JsonValue = {"index": 0, "id": "call-1", "type": "function", "function": function}
        self._pieces.put({"delta": {"tool_calls": [asked]}})
        self._pieces.put({"delta": {}, "finish_reason": "tool_calls"})
        self._pieces.put(None)

    def end(self, text: str = "") -> None:
        """End the answer."""
        self.say(text)
        self._pieces.put({"delta": {}, "finish_reason": "stop"})
        self._pieces.put(None)

    def break_off(self) -> None:
        """Break the connection of the answer in progress."""
        self._pieces.put(_BROKEN)

    def pieces(self) -> Iterator[bytes]:
        """Yield the events of one answer; raises ConnectionError where it breaks off."""
        while (choice := self._pieces.get()) is not None:
            if choice is _BROKEN:
                raise ConnectionError
            chunk: JsonValue = {
                "id": "answer",
                "object": "chat.completion.chunk",
                "created": 0,
                "model": "m",
                "choices": [{"index": 0, **choice}],
            }
            yield b"data: %s\n\n" % json.dumps(chunk).encode()
        yield b"data: [DONE]\n\n"


class _Handler(BaseHTTPRequestHandler):
    model: ClassVar[StreamedModel]

    def do_POST(self) -> None:
        size = int(self.headers.get("Content-Length", "0"))
        self.model.asked.put(json.loads(self.rfile.read(size)))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        with suppress(ConnectionError):  # without an end, the answer is cut
            for piece in self.model.pieces():
                self.wfile.write(piece)
                self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def streamed_model() -> Generator[StreamedModel]:
    """Serve a model on a free port."""
    model = StreamedModel()
    handler = type("Handler", (_Handler,), {"model": model})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    model.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
