// Runs an agent with the real client of AG-UI, and prints what came of it as JSON.
import { HttpAgent } from "@ag-ui/client";

const asked = JSON.parse(process.argv[2]);
const { resumable } = asked.wrapper ? await import(asked.wrapper) : { resumable: undefined };
console.warn = (...words) => process.stderr.write(`${words.join(" ")}\n`);
const quiet = console.error;
console.error = () => {}; // the client writes failures there, too
process.on("unhandledRejection", () => {}); // of connections that break

const ids = [];
/** Reads the ids of the events that the client gets. */
async function watched(url, init) {
  const response = await (resumable ?? fetch)(url, init);
  if (!response.ok || !response.body) return response;
  let rest = "";
  const decoder = new TextDecoder();
  const seen = new TransformStream({
    transform(part, out) {
      const blocks = (rest + decoder.decode(part, { stream: true })).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const id = /^id: (.+)$/m.exec(block);
        if (id) ids.push(id[1]);
      }
      out.enqueue(part);
    },
  });
  const { status, headers } = response;
  return new Response(response.body.pipeThrough(seen), { status, headers });
}

const agent = new HttpAgent({
  url: asked.url,
  headers: asked.headers,
  threadId: asked.thread,
  initialMessages: asked.messages,
  initialState: asked.state,
  fetch: watched,
});
const types = [];
const problems = [];
const ended = { is: false };
const subscriber = {
  onEvent: ({ event }) => {
    types.push(event.type);
    if (event.type === "TEXT_MESSAGE_CONTENT") process.stderr.write(`text ${event.delta}\n`);
  },
  onRunFinishedEvent: () => void (ended.is = true),
  onRunErrorEvent: ({ event }) => {
    ended.is = true;
    problems.push(`${event.code}: ${event.message}`);
  },
};
let attempts = 0;
for (const { runId, resume } of asked.runs) {
  ended.is = false;
  if (resume) {
    process.stderr.write("interrupted\n");
    await new Promise((done) => process.stdin.once("data", done)); // until the test says so
  }
  while (!ended.is && attempts < 200) {
    attempts += 1;
    const answers = resume && agent.pendingInterrupts.map(({ id }) => ({ ...resume, interruptId: id }));
    try {
      await agent.runAgent({ runId, ...(answers && { resume: answers }) }, subscriber);
    } catch (error) {
      problems.push(error.message);
      if (!asked.repeats) break;
    }
    if (!asked.repeats) break;
    await new Promise((done) => setTimeout(done, 100));
  }
}
const { messages, state, pendingInterrupts } = agent;
quiet.call(console, "done");
console.log(JSON.stringify({ ended: ended.is, types, ids, problems, attempts, messages, state, pendingInterrupts }));
process.exit(0);
