import { HttpAgent } from "@ag-ui/client";
import { resumable } from "./resumable.js";

const agent = new HttpAgent({ url: "/agui/desk", fetch: resumable });
const [log, form, decide] = ["log", "form", "decide"].map((id) => document.getElementById(id));

function show() {
  const lines = agent.messages.flatMap(({ role, content, toolCalls = [] }) => [
    ...(content ? [`${role}: ${content}`] : []),
    ...toolCalls.map((call) => `calls ${call.function.name} ${call.function.arguments}`),
  ]);
  log.textContent = lines.join("\n");
  decide.hidden = !agent.pendingInterrupts.length;
  decide.firstElementChild.textContent = agent.pendingInterrupts.map((it) => it.message).join("\n");
}

async function run(asked) {
  const failed = ({ event }) => alert(event.message);
  await agent.runAgent(asked, { onMessagesChanged: show, onRunErrorEvent: failed }).catch(alert);
  show();
}

form.onsubmit = (event) => {
  event.preventDefault();
  agent.addMessage({ id: crypto.randomUUID(), role: "user", content: form.text.value });
  form.reset();
  run({});
};

decide.onclick = ({ target: { value } }) => {
  const answer = { status: "resolved", payload: { approved: value === "yes" } };
  if (value) run({ resume: agent.pendingInterrupts.map(({ id }) => ({ ...answer, interruptId: id })) });
};
