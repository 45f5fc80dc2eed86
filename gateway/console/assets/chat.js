// @ts-check
/**
 * The chat with a session: sends without leaving the page, keeps what was typed, and follows the
 * newest message. Without this module the page reads and sends as well.
 */

const NEAR = 160;

const form = /** @type {() => HTMLFormElement | null} */ (() => document.querySelector("form#compose[data-kind=text]"));
const field = /** @type {() => HTMLTextAreaElement | null} */ (() => document.querySelector("#compose textarea#message"));
const draft = `coterie-draft:${location.pathname}`;

/** What is sent, with the id that makes it one message however often it is sent. */
let attempt = { text: "", id: "" };
let isSending = false;

function freshId() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** @param {string} text @param {boolean} [isWrong] */
function say(text, isWrong = false) {
  const line = document.getElementById("sending");
  if (!line) return;
  line.textContent = text;
  line.className = isWrong ? "error" : "soft";
}

/** @param {Response} answer @returns {Promise<string>} */
async function problemOf(answer) {
  if (answer.status === 401) {
    return "Not sent: your session has ended. Sign in again in another tab, then send; your text is kept here.";
  }
  const report = await answer.json().catch(() => null);
  const message = report?.message ? `${report.message}.` : "The gateway refused it.";
  return `Not sent: ${message} ${report?.fix ?? ""} Your text is kept here.`;
}

/** @returns {Promise<void>} */
async function send() {
  const [place, box] = [form(), field()];
  const text = box?.value.trim();
  if (!place || !box || !text || isSending) return;
  if (attempt.text !== text) attempt = { text, id: freshId() };
  keepDraft();
  isSending = true;
  say("Sending...");
  try {
    const answer = await fetch(place.dataset.api ?? "", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ message: text, message_id: attempt.id, wait: 0 }),
    });
    if (!answer.ok) return say(await problemOf(answer), true);
    const outcome = await answer.json();
    if (!outcome.is_taken) {
      return say("No worker has taken it yet. Start `coterie worker`, then send it again: it is sent once.", true);
    }
    if (box.value.trim() === text) box.value = "";
    attempt = { text: "", id: "" };
    keepDraft();
    grow();
    say("");
    follow(true);
  } catch {
    say("Not sent: no connection. Your text is kept here; send it again: it is sent once.", true);
  } finally {
    isSending = false;
  }
}

function keepDraft() {
  const text = field()?.value ?? "";
  try {
    if (text) sessionStorage.setItem(draft, JSON.stringify({ text, attempt }));
    else sessionStorage.removeItem(draft);
  } catch {
    // a browser that stores nothing keeps the text as long as the page
  }
}

function restoreDraft() {
  const box = field();
  if (!box || box.value) return;
  try {
    const kept = JSON.parse(sessionStorage.getItem(draft) ?? "null");
    if (typeof kept?.text === "string") box.value = kept.text;
    if (typeof kept?.attempt?.id === "string") attempt = kept.attempt;
  } catch {
    // not ours
  }
}

function grow() {
  const box = field();
  if (!box) return;
  box.rows = Math.min(12, Math.max(1, box.value.split("\n").length, Math.ceil(box.value.length / 70)));
}

/** Whether the reader is at the newest message. */
let isAtEnd = true;

/** @param {boolean} [always] */
function follow(always = false) {
  if (always || isAtEnd) scrollTo({ top: document.documentElement.scrollHeight });
}

/** The reply that a screen reader has heard last. */
let heard = latestReply()?.text ?? "";

function latestReply() {
  const replies = document.querySelectorAll("#content > .exchange > .reply .words");
  const last = replies[replies.length - 1];
  return last ? { text: `${replies.length} ${last.textContent}`, words: last.textContent ?? "" } : undefined;
}

function announce() {
  const reply = latestReply();
  const place = document.getElementById("heard");
  if (!reply || !place || reply.text === heard) return;
  heard = reply.text;
  place.textContent = reply.words.slice(0, 500);
}

/** @param {{calls: {step: string, attempt: number, error?: string, lost?: boolean}[]}} active */
function showCalls(active) {
  const line = document.querySelector("[data-calls]");
  if (!line || active.calls.length === 0) return;
  line.textContent = active.calls
    .slice(0, 5)
    .map(({ step, attempt: number, error, lost }) => {
      if (number < 2) return `${step} works`;
      return `${step} is tried again (attempt ${number})${lost ? ": its worker was lost" : error ? `: ${error}` : ""}`;
    })
    .join(", ");
}

document.addEventListener("submit", (event) => {
  if (event.target !== form()) return;
  event.preventDefault();
  void send();
});
document.addEventListener("keydown", (event) => {
  if (event.target !== field() || event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  void send();
});
document.addEventListener("input", (event) => {
  if (event.target !== field()) return;
  keepDraft();
  grow();
});
document.addEventListener("scroll", () => {
  isAtEnd = innerHeight + scrollY > document.documentElement.scrollHeight - NEAR;
});
addEventListener("resize", () => follow());
document.addEventListener("coterie:shown", () => {
  follow();
  announce();
});
document.addEventListener("coterie:calls", (event) => showCalls(/** @type {CustomEvent} */ (event).detail));

restoreDraft();
grow();
if (!document.getElementById("newest")) follow(true);
