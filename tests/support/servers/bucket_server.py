"""A stand-in for S3: objects that are put, looked for and got, in memory."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def body_of(request: BaseHTTPRequestHandler) -> bytes:
    """What was sent, its chunks put together."""
    data = request.rfile.read(int(request.headers["content-length"]))
    if "aws-chunked" not in request.headers.get("content-encoding", ""):
        return data
    whole = b""
    while data:
        size, _, data = data.partition(b"\r\n")
        length = int(size.split(b";")[0], 16)
        if not length:
            break
        whole, data = whole + data[:length], data[length + 2 :]
    return whole


@dataclass
class StandInBucket:
    """The objects of a server."""

    address: str = ""
    objects: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """`{path: object}`."""
    away: bool = False
    """Whether every request gets 503."""

    def put(self, path: str, body: bytes) -> None:
        """Keep an object, unless it is away."""
        if not self.away:
            self.objects[path] = body

    def answer(self, status: int, body: bytes) -> tuple[int, bytes]:
        """Return what it answers, instead of this if it is away."""
        return (503, b"") if self.away else (status, body)


@contextmanager
def bucket_server() -> Generator[StandInBucket]:
    """Serve on loopback; yield the bucket."""
    bucket = StandInBucket()
    objects = bucket.objects

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_PUT(self) -> None:
            bucket.put(self.path, body_of(self))
            self._answer(200, b"", ETag='"0"')

        def do_HEAD(self) -> None:
            self._answer(200 if self.path in objects else 404, objects.get(self.path, b""))

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path in objects:
                self._answer(200, objects[path])
            else:
                self._answer(404, b"<Error><Code>NoSuchKey</Code><Message>no</Message></Error>")

        def _answer(self, status: int, body: bytes, **headers: str) -> None:
            status, body = bucket.answer(status, body)
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    bucket.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield bucket
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
