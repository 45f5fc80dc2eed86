// @ts-check
/**
 * Keeps a page of the console fresh, and lets the keyboard move through it. Without this module
 * every page reads and decides as well; one only reloads it by hand.
 */

const REPLACED = ["top", "content"];
const MAX_WAIT = 60;
const NEWS_DELAY = 300;

/** The one policy of Trusted Types: it passes on pages of this server, which escapes every text. */
const policy = /** @type {any} */ (window).trustedTypes?.createPolicy("coterie", {
  createHTML: (/** @type {string} */ html) => html,
});

/** @param {string} html @returns {Document} */
function parsed(html) {
  return new DOMParser().parseFromString(policy ? policy.createHTML(html) : html, "text/html");
}

/** Whether the person is in the middle of a form in a part of the page. @param {Element} part */
function isTyping(part) {
  for (const field of part.querySelectorAll("input, textarea, select")) {
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
 * The children of a part that has sections, by name: each is replaced for itself, so that the rest
 * keeps its state.
 * @param {Element | null} whole @returns {Map<string, Element>}
 */
function childrenOf(whole) {
  const parts = new Map();
  if (!whole?.querySelector(":scope > section")) return parts;
  for (const part of whole.children) {
    let name = part.id || part.tagName;
    while (parts.has(name)) name += "+";
    parts.set(name, part);
  }
  return parts;
}

/** What the server sent last, by part. @type {Map<string, string>} */
const sent = new Map();

/** @param {string} id */
function remember(id) {
  const whole = document.getElementById(id);
  if (!whole) return;
  sent.set(id, whole.innerHTML);
  for (const [name, part] of childrenOf(whole)) sent.set(`${id} ${name}`, part.innerHTML);
}
REPLACED.forEach(remember);

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
  const isOther = document.body.className !== page.body.className;
  for (const id of REPLACED) {
    const [whole, fresh] = [document.getElementById(id), page.getElementById(id)];
    if (!whole || !fresh) continue;
    const [old, wanted] = [childrenOf(whole), childrenOf(fresh)];
    if (isOther || (old.size === 0) !== (wanted.size === 0)) {
      replace(whole, fresh);
      remember(id);
    } else if (wanted.size === 0) {
      takePart(id, whole, fresh);
    } else {
      takeChildren(id, old, wanted);
    }
  }
}

/** @param {string} name @param {Element} old @param {Element} fresh */
function takePart(name, old, fresh) {
  const html = fresh.innerHTML;
  const isKept = old instanceof HTMLElement && "keep" in old.dataset;
  if (sent.get(name) === html || isKept || isTyping(old)) return;
  sent.set(name, html);
  replace(old, fresh);
}

/**
 * Adds the parts that are new and removes those that are gone, each at its place. One in which the
 * person types stays; a part of a conversation that is no longer among the latest moves to the older ones.
 * @param {string} id @param {Map<string, Element>} old @param {Map<string, Element>} wanted
 */
function takeChildren(id, old, wanted) {
  const older = old.get("older");
  for (const [name, part] of old) {
    if (wanted.has(name) || isTyping(part)) continue;
    if (older && part.classList.contains("exchange")) older.append(part);
    else part.remove();
    sent.delete(`${id} ${name}`);
  }
  /** @type {Element | undefined} */
  let before;
  for (const [name, part] of wanted) {
    const known = old.get(name);
    if (known) {
      takePart(`${id} ${name}`, known, part);
      before = known;
      continue;
    }
    sent.set(`${id} ${name}`, part.innerHTML);
    if (before) before.after(part);
    else document.getElementById(id)?.prepend(part);
    before = part;
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

/** Whether something has happened since the page was last asked for. */
let hasNews = false;
let isAsking = false;

/** Looks soon: once for all news until then, however fast they come. */
function noteNews() {
  if (hasNews) return;
  hasNews = true;
  if (!isAsking) schedule();
}

async function refresh() {
  if (document.hidden) return;
  if (isAsking) return noteNews();
  isAsking = true;
  hasNews = false;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (answer.status === 401) {
      tell("Your session has ended. Sign in again in another tab; this page keeps what you typed.");
      return;
    }
    if (!answer.ok && !document.body.classList.contains("problem")) throw new Error();
    const page = parsed(await answer.text());
    take(page);
    document.dispatchEvent(new Event("coterie:fresh"));
    document.body.className = page.body.className;
    document.body.dataset.events = page.body.dataset.events ?? "";
    every = Number(page.body.dataset.refresh ?? 0);
    showTexts();
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
  } finally {
    isAsking = false;
    if (every > 0) schedule();
  }
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

function schedule() {
  clearTimeout(timer);
  const seconds = streams ? Math.max(wait, MAX_WAIT) : wait;
  timer = setTimeout(refresh, hasNews ? NEWS_DELAY : seconds * 1000);
}

/** The texts that models write now, by call. @type {Map<string, {step: string, message: string, text: string}>} */
const texts = new Map();

/**
 * Shows each text where the page has a place for it: that of its call, or that of all texts; else
 * above the content.
 */
function showTexts() {
  const live = document.getElementById("live");
  const common = document.querySelector("[data-live]") ?? live;
  /** @type {Map<Element, Node[]>} */
  const shown = new Map();
  for (const place of document.querySelectorAll("#live, [data-live], [data-call]")) shown.set(place, []);
  for (const [call, { step, text }] of texts) {
    const own = document.querySelector(`[data-call="${CSS.escape(call)}"]`);
    const place = own ?? common;
    if (place) shown.get(place)?.push(written(step, text, place === live));
  }
  for (const [place, nodes] of shown) {
    if (!(place instanceof HTMLElement)) continue;
    place.hidden = nodes.length === 0;
    place.replaceChildren(...nodes);
  }
  document.dispatchEvent(new Event("coterie:shown"));
}

/** @param {string} step @param {string} text @param {boolean} isCard */
function written(step, text, isCard) {
  const card = document.createElement("div");
  const who = document.createElement("p");
  const said = document.createElement("div");
  card.className = isCard ? "card" : "";
  who.className = "who";
  who.textContent = `${step} writes`;
  said.className = "words";
  said.textContent = text;
  card.append(who, said);
  return card;
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
  document.dispatchEvent(new CustomEvent("coterie:calls", { detail: active }));
  const calls = new Set(active.calls.map(({ call }) => call));
  for (const call of texts.keys()) if (!calls.has(call)) texts.delete(call);
  showTexts();
}

/** The one connection of this page; a browser has six for a host. @type {EventSource | undefined} */
let source;

function listen() {
  const address = document.body.dataset.events;
  if (!address || document.hidden || source) return;
  source = new EventSource(address);
  source.addEventListener("opened", () => (streams = true));
  source.addEventListener("history", noteNews);
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

/** Puts the earlier part of a conversation before the one on the page. @param {HTMLAnchorElement} link */
async function loadEarlier(link) {
  const answer = await fetch(link.href).catch(() => undefined);
  const older = document.getElementById("older");
  if (!answer?.ok || !older) return location.assign(link.href);
  const page = parsed(await answer.text());
  const height = document.documentElement.scrollHeight;
  link.closest("p")?.remove();
  older.prepend(
    ...(page.getElementById("older")?.children ?? []),
    ...page.querySelectorAll("#content > .exchange"),
  );
  scrollBy({ top: document.documentElement.scrollHeight - height });
  document.getElementById("earlier")?.focus({ preventScroll: true });
}

document.addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("#earlier") : null;
  if (!(link instanceof HTMLAnchorElement) || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  void loadEarlier(link);
});

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
