"""A forge on this machine: one pull request, comments in memory, a token for each request."""

import json
import os
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PATCH = """@@ -10,3 +10,3 @@
 def height(hours):
-    return height
+    return round(height)"""
FILES = [{"filename": "tides.py", "patch": PATCH}]
COMMENTS: dict[str, dict[str, object]] = {}
"""By the key of the call, so that a repeated call comments once."""
PULL = re.compile(r"/repos/ada/tides/(pulls/7/files|issues/7/comments)")


class Forge(BaseHTTPRequestHandler):
    """Answers one request."""

    def do_GET(self) -> None:
        """List the changed files, or the comments."""
        found = PULL.fullmatch(self.path)
        if found is None:
            self._answer(404, {"message": "Not Found"})
        else:
            self._answer(200, FILES if found[1].startswith("pulls") else [*COMMENTS.values()])

    def do_POST(self) -> None:
        """Take a comment."""
        comment = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if PULL.fullmatch(self.path) is None or not isinstance(comment.get("body"), str):
            self._answer(422, {"message": "Validation Failed"})
            return
        key = self.headers.get("idempotency-key", str(len(COMMENTS)))
        new = {"id": len(COMMENTS) + 1, "body": comment["body"]}
        self._answer(201, COMMENTS.setdefault(key, new))

    def _answer(self, status: int, value: object) -> None:
        if self.headers.get("authorization") != f"Bearer {os.environ.get('FORGE_TOKEN')}":
            status, value = 401, {"message": "Bad credentials"}
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8766
    ThreadingHTTPServer(("127.0.0.1", port), Forge).serve_forever()
