"""The hotel on this machine: it knows one reservation, and confirms each other request."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

STAYS = {"r204": {"id": "r204", "room": "204", "departure": "2026-12-12"}}


class Hotel(BaseHTTPRequestHandler):
    """Answers one request."""

    def do_GET(self) -> None:
        """List the reservations, or say what was asked for."""
        path = urlsplit(self.path).path
        is_list = path == "/v1/reservations"
        self._answer({"reservations": [*STAYS.values()]} if is_list else {"asked": path})

    def do_POST(self) -> None:
        """Extend a stay, or confirm another order."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        parts = urlsplit(self.path).path.split("/")
        if parts[2] == "reservations" and parts[-1] == "extend" and parts[3] in STAYS:
            STAYS[parts[3]]["departure"] = body["newDeparture"]
            self._answer(STAYS[parts[3]])
        else:
            self._answer({"confirmed": parts[2], **body})

    def _answer(self, value: object) -> None:
        content = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8767
    ThreadingHTTPServer(("127.0.0.1", port), Hotel).serve_forever()
