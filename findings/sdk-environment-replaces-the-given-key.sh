#!/usr/bin/env bash
# The clients of openai and anthropic read default headers from the environment. One of them beats
# `api_key=`, which the program gave explicitly; openai sends the organization and project of the
# environment to every `base_url`, and `organization=None` does not turn that off.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check openai==3.54.0 anthropic==2.12.0
OPENAI_CUSTOM_HEADERS="Authorization: Bearer from-environment" \
ANTHROPIC_CUSTOM_HEADERS="Authorization: Bearer from-environment" \
OPENAI_ORG_ID=org-environment OPENAI_PROJECT_ID=project-environment \
"$folder/venv/bin/python" - <<'PYTHON'
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import version

from anthropic import Anthropic
from openai import OpenAI

seen = []


class Server(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        names = ("authorization", "openai-organization", "openai-project")
        seen.append({name: self.headers[name] for name in names if self.headers[name]})
        body = json.dumps({"error": {"message": "no"}}).encode()
        self.send_response(400)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
ask = [{"role": "user", "content": "hello"}]
for call in (
    lambda: OpenAI(
        api_key="from-program", organization=None, project=None, base_url=url, max_retries=0
    ).chat.completions.create(model="m", messages=ask),
    lambda: Anthropic(api_key="from-program", base_url=url, max_retries=0).messages.create(
        model="m", max_tokens=9, messages=ask
    ),
):
    try:
        call()
    except Exception as error:
        assert type(error).__name__ == "BadRequestError", error
print("openai", version("openai"), seen[0])
print("anthropic", version("anthropic"), seen[1])
assert seen[0] == {
    "authorization": "Bearer from-environment",
    "openai-organization": "org-environment",
    "openai-project": "project-environment",
}, "the behaviour has changed"
assert seen[1] == {"authorization": "Bearer from-environment"}, "the behaviour has changed"
PYTHON
