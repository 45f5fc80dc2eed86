#!/usr/bin/env bash
# When a structured answer is cut off by the token limit, `messages.parse` of anthropic and
# `responses.parse` of openai raise pydantic's ValidationError about half a JSON text. That is no error of
# the SDK, does not name the limit, and the usage, which is billed, is lost. `chat.completions.parse`
# of the same openai package raises LengthFinishReasonError with the usage.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check openai==3.54.0 anthropic==2.12.0
"$folder/venv/bin/python" - <<'PYTHON'
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import version

from anthropic import Anthropic, AnthropicError
from openai import OpenAI, OpenAIError
from pydantic import BaseModel

HALF = '{"amount": 1, "note": "for'
ANSWERS = {
    "/v1/messages": {
        "id": "m", "type": "message", "role": "assistant", "model": "m",
        "content": [{"type": "text", "text": HALF}],
        "stop_reason": "max_tokens", "stop_sequence": None,
        "usage": {"input_tokens": 5, "output_tokens": 9},
    },
    "/chat/completions": {
        "id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [
            {"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": HALF}}
        ],
        "usage": {"prompt_tokens": 5, "completion_tokens": 9, "total_tokens": 14},
    },
    "/responses": {
        "id": "r", "object": "response", "created_at": 1, "model": "m", "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"}, "parallel_tool_calls": True,
        "tool_choice": "auto", "tools": [],
        "output": [
            {
                "id": "o", "type": "message", "role": "assistant", "status": "incomplete",
                "content": [{"type": "output_text", "text": HALF, "annotations": []}],
            }
        ],
        "usage": {
            "input_tokens": 5, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 9,
            "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 14,
        },
    },
}  # fmt: skip


class Server(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps(ANSWERS[self.path]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Payment(BaseModel):
    amount: int
    note: str


server = HTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
ask = [{"role": "user", "content": "Pay."}]
claude = Anthropic(api_key="k", base_url=url, max_retries=0)
openai = OpenAI(api_key="k", base_url=url, max_retries=0)
calls = {
    "anthropic messages.parse": lambda: claude.messages.parse(
        model="m", max_tokens=9, messages=ask, output_format=Payment
    ),
    "openai responses.parse": lambda: openai.responses.parse(
        model="m", input="Pay.", text_format=Payment
    ),
    "openai chat.completions.parse": lambda: openai.chat.completions.parse(
        model="m", messages=ask, response_format=Payment
    ),
}
seen = []
print("anthropic", version("anthropic"), "openai", version("openai"))
for name, call in calls.items():
    try:
        call()
    except Exception as error:
        of_sdk = isinstance(error, (AnthropicError, OpenAIError))
        usage = "9" in str(error) and "completion_tokens" in str(error)
        seen.append((type(error).__name__, of_sdk, usage))
        print(f"{name}: {type(error).__name__}, of the SDK: {of_sdk}, with usage: {usage}")
assert seen == [
    ("ValidationError", False, False),
    ("ValidationError", False, False),
    ("LengthFinishReasonError", True, True),
], "the behaviour has changed"
PYTHON
