"""A real HTTP API on this machine: it keeps what came, and answers as the test asks."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from coterie.dsl.values import JsonValue


@dataclass(frozen=True)
class Came:
    """A request."""

    method: str
    target: str
    headers: dict[str, str]
    body: str


@dataclass(frozen=True)
class Answer:
    """An answer: its status, its body, and further headers."""

    status: int = 200
    body: str | bytes = "{}"
    type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict[str, str])


@dataclass
class HttpServer:
    """What came, and the next answers; without one, `{}`."""

    port: int = 0
    came: list[Came] = field(default_factory=list[Came])
    answers: list[Answer | None] = field(default_factory=list[Answer | None])
    """None closes the connection without an answer."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def will_answer(self, body: JsonValue) -> None:
        """Answer the next request with JSON."""
        self.answers.append(Answer(body=json.dumps(body)))


@contextmanager
def http_server() -> Generator[HttpServer]:
    """A server on a free port."""
    made = HttpServer()

    class Handler(BaseHTTPRequestHandler):
        def _handle(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
            headers = {key.lower(): value for key, value in self.headers.items()}
            made.came.append(Came(self.command, self.path, headers, body))
            answer = made.answers.pop(0) if made.answers else Answer()
            if answer is None:
                self.close_connection = True
                return
            content = answer.body.encode() if isinstance(answer.body, str) else answer.body
            self.send_response(answer.status)
            if answer.type:
                self.send_header("content-type", answer.type)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_HEAD = do_PUT = do_DELETE = do_POST = do_PATCH = _handle

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
