"""A bookshop on this machine: three books, orders in memory, and a key that each request needs."""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

BOOKS = {
    "b/1": {"title": "The Lighthouse Keeper", "price": 12.5, "stock": 3},
    "b/2": {"title": "Lighthouses of the North", "price": 30.0, "stock": 0},
    "b/3": {"title": "The Ferry", "price": 8.0, "stock": 9},
}
ORDERS: dict[str, dict[str, object]] = {}
"""By the key of the call, so that a repeated call orders nothing more."""


class Shop(BaseHTTPRequestHandler):
    """Answers one request."""

    def do_GET(self) -> None:
        """Find or read books; say what the post costs."""
        parts = urlsplit(self.path)
        query = parse_qs(parts.query)
        if parts.path == "/v1/books":
            words = [word.lower() for word in query.get("words", [])]
            found = [
                {"id": id, "title": book["title"]}
                for id, book in BOOKS.items()
                if all(word in str(book["title"]).lower() for word in words)
            ]
            self._answer(200, {"books": found})
        elif parts.path.startswith("/v1/books/"):
            book = BOOKS.get(unquote(parts.path.removeprefix("/v1/books/")))
            self._answer(404, {"error": "no such book"}) if book is None else self._answer(
                200, book
            )
        elif parts.path.startswith("/v1/postage/"):
            copies = int(query.get("copies", ["1"])[0])
            price = {"amount": 2.0 + copies, "currency": "EUR"}
            self._answer(200, {"to": unquote(parts.path.rpartition("/")[2]), "price": price})
        else:
            self._answer(404, {"error": "nothing is here"})

    def do_POST(self) -> None:
        """Take an order."""
        order = json.loads(self.rfile.read(int(self.headers["content-length"])))
        key = self.headers.get("idempotency-key", str(len(ORDERS)))
        book = BOOKS.get(order["book"])
        if book is None or int(str(book["stock"])) < order["copies"]:
            self._answer(409, {"error": "sold out"})
            return
        self._answer(201, ORDERS.setdefault(key, {"id": f"o{len(ORDERS) + 1}", **order}))

    def _answer(self, status: int, value: object) -> None:
        if self.headers.get("x-shop-key") != os.environ.get("SHOP_KEY"):
            status, value = 401, {"error": "the key is wrong"}
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8765
    ThreadingHTTPServer(("127.0.0.1", port), Shop).serve_forever()
