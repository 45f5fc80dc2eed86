#!/usr/bin/env bash
# A stream of a model's answer that ends too early, as when a proxy closes it properly, raises nothing
# in the clients of anthropic and openai: their helpers return the first half as the whole answer.
# Only the missing stop reason tells. And the event `error` of a Responses stream is yielded like any
# other one, where the client raises for an error in a chat stream.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check openai==3.54.0 anthropic==2.12.0
"$folder/venv/bin/python" - <<'PYTHON'
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import version

from anthropic import Anthropic
from openai import APIError, OpenAI

MESSAGE = {
    "id": "m", "type": "message", "role": "assistant", "model": "m", "content": [],
    "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
}  # fmt: skip
TEXT = {"type": "text", "text": ""}
CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
DELTA = {"index": 0, "delta": {"role": "assistant", "content": "Pay 1"}, "finish_reason": None}
ERROR = {"code": "server_error", "message": "overloaded", "param": None}
EVENTS = {
    "/v1/messages": [
        {"type": "message_start", "message": MESSAGE},
        {"type": "content_block_start", "index": 0, "content_block": TEXT},
        {
            "type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": "Pay 1"},
        },
    ],
    "/cut/chat/completions": [{**CHUNK, "choices": [DELTA]}],
    "/error/chat/completions": [{**CHUNK, "choices": [DELTA]}, {"error": ERROR}],
    "/error/responses": [{"type": "error", "sequence_number": 0, **ERROR}],
}  # fmt: skip


class Server(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        lines = []
        for event in EVENTS[self.path]:
            lines += [f"event: {event['type']}"] if "type" in event else []
            lines += [f"data: {json.dumps(event)}", ""]
        body = ("\n".join(lines) + "\n").encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
ask = [{"role": "user", "content": "How much?"}]
claude = Anthropic(api_key="k", base_url=url, max_retries=0)
cut, failing = (
    OpenAI(api_key="k", base_url=f"{url}/{path}", max_retries=0) for path in ("cut", "error")
)
with claude.messages.stream(model="m", max_tokens=99, messages=ask) as stream:
    message = stream.get_final_message()
with cut.chat.completions.stream(model="m", messages=ask) as stream:
    choice = stream.get_final_completion().choices[0]
try:
    chat_error = str(list(failing.chat.completions.create(model="m", messages=ask, stream=True)))
except APIError as error:
    chat_error = f"raises {type(error).__name__}"
types = [event.type for event in failing.responses.create(model="m", input="?", stream=True)]
print("anthropic", version("anthropic"), [message.content[0].text, message.stop_reason])
print("openai", version("openai"), [choice.message.content, choice.finish_reason])
print(f"an error in a stream: chat {chat_error}; responses yields {types}")
assert [message.content[0].text, message.stop_reason] == ["Pay 1", None], "it has changed"
assert [choice.message.content, choice.finish_reason] == ["Pay 1", None], "it has changed"
assert (chat_error, types) == ("raises APIError", ["error"]), "the behaviour has changed"
PYTHON
