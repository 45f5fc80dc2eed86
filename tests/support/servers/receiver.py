"""A real HTTP server that receives webhooks, keeps them, and answers as the test asks."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Delivery:
    """One request."""

    headers: dict[str, str]
    body: bytes

    @property
    def message(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass
class Receiver:
    """What came, and how the next ones are answered."""

    url: str = ""
    deliveries: list[Delivery] = field(default_factory=list[Delivery])
    answers: list[int] = field(default_factory=list[int])
    """Status codes of the next answers, 204 after them; 0 never answers."""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    """With each answer."""
    closed: threading.Event = field(default_factory=threading.Event)

    def moments(self) -> list[tuple[str, int]]:
        """`(what, number)` of everything that came."""
        return [(one.message["what"], one.message["number"]) for one in self.deliveries]


@contextmanager
def receiver(*answers: int) -> Generator[Receiver]:
    """A receiver on a free port."""
    made = Receiver(answers=list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            given = {key.lower(): value for key, value in self.headers.items()}
            made.deliveries.append(Delivery(given, body))
            status = made.answers.pop(0) if made.answers else 204
            if status == 0:
                made.closed.wait(120)
                return
            self.send_response(status)
            for key, value in made.headers.items():
                self.send_header(key, value)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    made.url = f"http://127.0.0.1:{server.server_address[1]}/hook/s3cret-path"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.closed.set()
        server.shutdown()
        server.server_close()
        thread.join()
