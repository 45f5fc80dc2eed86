#!/usr/bin/env bash
# The client repeats a request that may have had its effect, and sends no key that names the request.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check openai==3.54.0
cat >"$folder/repeats.py" <<'PYTHON'
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import openai

ANSWER = {
    "id": "c", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "done"}}
    ],
}
seen: list[dict[str, str]] = []


class Server(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        seen.append({name.lower(): value for name, value in self.headers.items()})
        status = {1: 500, 2: 409}.get(len(seen), 200)
        body = json.dumps(ANSWER if status == 200 else {"error": {"message": "once"}}).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


server = HTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key="k")
client.chat.completions.create(model="m", messages=[{"role": "user", "content": "pay"}])
keys = [name for headers in seen for name in headers if "idempotency" in name]
counts = [headers["x-stainless-retry-count"] for headers in seen]
print("openai", openai.__version__, "sent", len(seen), "requests, retry counts", counts, "keys", keys)
assert (counts, keys) == (["0", "1", "2"], [])
PYTHON
"$folder/venv/bin/python" "$folder/repeats.py"
