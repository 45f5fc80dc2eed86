// @ts-check
/**
 * Keeps a page of the console fresh, and lets the keyboard move through it. Without this module
 * every page reads and decides as well; one only reloads it by hand.
 */

const REPLACED = ["top", "content"];
const MAX_WAIT = 60;

/** The one policy of Trusted Types: it passes on pages of this server, which escapes every text. */
const policy = /** @type {any} */ (window).trustedTypes?.createPolicy("coterie", {
  createHTML: (/** @type {string} */ html) => html,
});

/** @param {string} html @returns {Document} */
function parsed(html) {
  return new DOMParser().parseFromString(policy ? policy.createHTML(html) : html, "text/html");
}

/** Whether the person is in the middle of a form. */
function isTyping() {
  for (const field of document.querySelectorAll("main input, main textarea, main select")) {
    if (field === document.activeElement) return true;
    if (field instanceof HTMLInputElement) {
      if (field.type === "checkbox" ? field.checked : field.value !== field.defaultValue) return true;
    } else if (field instanceof HTMLTextAreaElement && field.value !== field.defaultValue) {
      return true;
    } else if (field instanceof HTMLSelectElement) {
      const chosen = [...field.options].findIndex((option) => option.defaultSelected);
      if (field.selectedIndex !== Math.max(chosen, 0)) return true;
    }
  }
  return false;
}

/**
 * The parts of a page that are replaced each for itself, so that the rest keeps its state.
 * @param {ParentNode} page @returns {Map<string, Element>}
 */
function partsOf(page) {
  const parts = new Map();
  for (const id of REPLACED) {
    const whole = page.querySelector(`#${id}`);
    if (whole === null) continue;
    const sections = whole.querySelectorAll(":scope > section");
    if (sections.length === 0) parts.set(id, whole);
    sections.forEach((section, number) => parts.set(`${id} ${section.id || number}`, section));
  }
  return parts;
}

/** What the server sent last, by part. @type {Map<string, string>} */
const sent = new Map([...partsOf(document)].map(([name, part]) => [name, part.innerHTML]));

/** @param {Element} part @param {Element} fresh */
function replace(part, fresh) {
  const open = [...part.querySelectorAll("details")].map((fold) => fold.open);
  const focus = [...part.querySelectorAll("a, button, summary, [tabindex]")];
  const at = document.activeElement === null ? -1 : focus.indexOf(document.activeElement);
  part.replaceChildren(...fresh.childNodes);
  part.querySelectorAll("details").forEach((fold, number) => {
    if (number < open.length) fold.open = open[number] ?? fold.open;
  });
  const again = part.querySelectorAll("a, button, summary, [tabindex]")[at];
  if (again instanceof HTMLElement) again.focus({ preventScroll: true });
}

/** @param {Document} page */
function take(page) {
  const fresh = partsOf(page);
  const now = partsOf(document);
  if ([...fresh.keys()].join() !== [...now.keys()].join()) {
    for (const id of REPLACED) {
      const whole = document.getElementById(id);
      const other = page.getElementById(id);
      if (whole && other) replace(whole, other);
    }
    sent.clear();
    partsOf(document).forEach((part, name) => sent.set(name, part.innerHTML));
    return;
  }
  for (const [name, part] of fresh) {
    const html = part.innerHTML;
    if (sent.get(name) === html) continue;
    sent.set(name, html);
    const old = now.get(name);
    if (old) replace(old, part);
  }
}

/** @param {string} text */
function tell(text) {
  const status = document.getElementById("status");
  if (!status) return;
  status.querySelector(".stale")?.remove();
  if (!text) return;
  const line = document.createElement("p");
  line.className = "stale";
  line.textContent = text;
  status.append(line);
}

let every = Number(document.body.dataset.refresh ?? 0);
let wait = every;
/** Whether a stream tells when there is news. */
let streams = false;
let latest = document.body.dataset.at ? new Date(document.body.dataset.at) : new Date();

async function refresh() {
  if (document.hidden || isTyping()) return schedule();
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!answer.ok && !document.body.classList.contains("problem")) throw new Error();
    const page = parsed(await answer.text());
    take(page);
    document.dispatchEvent(new Event("coterie:fresh"));
    document.body.className = page.body.className;
    document.body.dataset.events = page.body.dataset.events ?? "";
    every = Number(page.body.dataset.refresh ?? 0);
    tell("");
    latest = new Date();
    wait = every;
    if (every === 0) {
      texts.clear();
      showTexts();
      return hangUp();
    }
    listen();
  } catch {
    wait = Math.min(Math.max(wait, 1) * 2, MAX_WAIT);
    const time = latest.toLocaleTimeString([], { timeZoneName: "short" });
    tell(`No connection: this is the state of ${time}. The page tries again.`);
  }
  schedule();
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

function schedule() {
  clearTimeout(timer);
  timer = setTimeout(refresh, (streams ? Math.max(wait, MAX_WAIT) : wait) * 1000);
}

/** The texts that models write now, by call. @type {Map<string, {step: string, message: string, text: string}>} */
const texts = new Map();

function showTexts() {
  const live = document.getElementById("live");
  if (!live) return;
  live.hidden = texts.size === 0;
  live.replaceChildren(
    ...[...texts.values()].map(({ step, text }) => {
      const card = document.createElement("div");
      const who = document.createElement("p");
      const said = document.createElement("pre");
      card.className = "card";
      who.className = "who";
      who.textContent = `${step} writes`;
      said.textContent = text;
      card.append(who, said);
      return card;
    }),
  );
}

/** @param {{call: string, step: string, message: string, start: number, text: string}} piece */
function takeText(piece) {
  const known = texts.get(piece.call);
  const before = known && known.message === piece.message ? known.text : "";
  const text = before.slice(0, piece.start) + piece.text;
  texts.set(piece.call, { step: piece.step, message: piece.message, text });
  showTexts();
}

/** @param {{calls: {call: string}[]}} active */
function takeCalls(active) {
  const calls = new Set(active.calls.map(({ call }) => call));
  for (const call of texts.keys()) if (!calls.has(call)) texts.delete(call);
  showTexts();
}

const NEWS_DELAY = 300;
/** The one connection of this page; a browser has six for a host. @type {EventSource | undefined} */
let source;

function listen() {
  const address = document.body.dataset.events;
  if (!address || document.hidden || source) return;
  source = new EventSource(address);
  source.addEventListener("opened", () => (streams = true));
  source.addEventListener("history", () => {
    clearTimeout(timer);
    timer = setTimeout(refresh, NEWS_DELAY);
  });
  source.addEventListener("calls", (event) => takeCalls(JSON.parse(event.data)));
  source.addEventListener("text", (event) => takeText(JSON.parse(event.data)));
  source.addEventListener("error", () => {
    streams = false;
    schedule();
  });
}

function hangUp() {
  source?.close();
  source = undefined;
  streams = false;
}

if (every > 0) {
  schedule();
  listen();
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      hangUp();
    } else {
      listen();
      void refresh();
    }
  });
  addEventListener("pagehide", hangUp);
}

// j and k move through rows and cards, as in a reader of mail.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !["j", "k"].includes(event.key)) return;
  const target = event.target;
  if (target instanceof HTMLElement && target.closest("input, textarea, select")) return;
  const stops = [
    ...document.querySelectorAll("main summary, main .list a, main .waiting-card .crumb a"),
  ].filter((stop) => stop instanceof HTMLElement && stop.offsetParent !== null);
  const at = document.activeElement === null ? -1 : stops.indexOf(document.activeElement);
  const next = stops[at + (event.key === "j" ? 1 : -1)];
  if (next instanceof HTMLElement) {
    next.focus();
    event.preventDefault();
  }
});

/** Filters of runs that the person keeps in this browser. A kept one is a link like any other. */
const KEPT = "coterie-filters";
const MAX_KEPT = 30;

/** @returns {{name: string, query: string}[]} */
function keptFilters() {
  try {
    const found = JSON.parse(localStorage.getItem(KEPT) ?? "[]");
    return found.filter((/** @type {any} */ one) => typeof one.name === "string" && typeof one.query === "string");
  } catch {
    return [];
  }
}

/** @param {HTMLElement} box @param {{name: string, query: string}[]} filters */
function showKept(box, filters) {
  box.querySelector("ul")?.remove();
  if (filters.length === 0) return;
  const list = document.createElement("ul");
  list.className = "filters";
  for (const one of filters) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    const drop = document.createElement("button");
    link.href = `/runs?${one.query}`;
    link.textContent = one.name;
    drop.className = "plain-button";
    drop.type = "button";
    drop.textContent = "×";
    drop.setAttribute("aria-label", `Forget the filter ${one.name}`);
    drop.addEventListener("click", () => keep(box, keptFilters().filter(({ name }) => name !== one.name)));
    item.append(link, drop);
    list.append(item);
  }
  box.prepend(list);
}

/** @param {HTMLElement} box @param {{name: string, query: string}[]} filters */
function keep(box, filters) {
  try {
    localStorage.setItem(KEPT, JSON.stringify(filters.slice(0, MAX_KEPT)));
  } catch {
    tell("This browser keeps nothing for this page; bookmark the address instead.");
  }
  showKept(box, filters);
}

const kept = document.getElementById("kept");
if (kept) {
  const query = kept.dataset.query ?? "";
  const form = kept.querySelector("form");
  const fold = kept.querySelector("details");
  if (fold) fold.hidden = query === "";
  kept.hidden = false;
  showKept(kept, keptFilters());
  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    const name = String(new FormData(form).get("name") ?? "").trim();
    if (!name) return;
    const others = keptFilters().filter((one) => one.name !== name);
    keep(kept, [{ name, query }, ...others]);
    form.reset();
    if (fold) fold.open = false;
  });
}
