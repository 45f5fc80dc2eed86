// @ts-check
/**
 * Draws the calls of a whole run, however many: the table beside it says the same in words.
 * The server reads a run once; while it does, this module says how far it is.
 */

const WHOLE = 1_000_000;
const ASK_AGAIN = 500;
const MIN_PAUSE = 10_000;
const MIN_WINDOW = 50;
const LABEL_HEIGHT = 13;

/**
 * @typedef {{label: number[], kind: number[], at: number[], length: number[], waited: number[],
 *   began: number[], took: number[], ended: boolean[], failed: boolean[]}} Bars
 * @typedef {{is_whole: boolean, read: number, events: number, began: string, seconds: number,
 *   left_out: number, labels: string[], kinds: string[], bars: Bars, short: string}} Timeline
 */

/** @param {number} seconds */
function took(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** @param {HTMLElement} box */
function picture(box) {
  const canvas = /** @type {HTMLCanvasElement} */ (box.querySelector("canvas"));
  const says = /** @type {HTMLElement} */ (box.querySelector(".says"));
  const [from, under, to] = ["from", "under", "to"].map(
    (name) => /** @type {HTMLElement} */ (box.querySelector(`.${name}`)),
  );
  /** @type {Timeline | undefined} */
  let timeline;
  let [first, last] = [0, WHOLE];
  /** The bars that lie in the window, in the order of their rows. @type {number[]} */
  let rows = [];
  let drawing = 0;
  let asked = 0;
  /** @type {number | undefined} */
  let pressed;

  /** The colours of the legend, which follow the reader's mode. */
  function colours() {
    /** @type {Record<string, string>} */
    const found = {};
    for (const name of ["turn", "call", "step", "person", "waited", "failed"]) {
      const key = box.querySelector(`.key.${name}`);
      if (key) found[name] = getComputedStyle(key, "::before").backgroundColor;
    }
    return found;
  }

  function draw() {
    drawing = 0;
    const context = canvas.getContext("2d");
    if (!timeline || !context) return;
    const { bars, kinds, labels } = timeline;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    const scale = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    rows = [];
    for (let bar = 0; bar < bars.at.length; bar++) {
      const at = bars.at[bar] ?? 0;
      if (at <= last && at + (bars.length[bar] ?? 0) >= first) rows.push(bar);
    }
    const perUnit = width / (last - first);
    const step = height / Math.max(rows.length, 1);
    const thick = Math.min(Math.max(step * 0.75, 2), 14);
    const colour = colours();
    rows.forEach((bar, row) => {
      const y = row * step + (Math.min(step, 20) - thick) / 2;
      const x = ((bars.at[bar] ?? 0) - first) * perUnit;
      const long = Math.max((bars.length[bar] ?? 0) * perUnit, 2);
      const waited = (bars.waited[bar] ?? 0) * perUnit;
      const kind = bars.failed[bar] ? "failed" : (kinds[bars.kind[bar] ?? 0] ?? "step");
      if (waited >= 1) {
        context.fillStyle = colour.waited ?? "gray";
        context.fillRect(x, y + thick / 2 - 0.5, waited, 1);
      }
      context.fillStyle = colour[kind] ?? "gray";
      context.fillRect(x + waited, y, Math.max(long - waited, 2), thick);
    });
    if (step >= LABEL_HEIGHT) {
      context.font = "11px system-ui, sans-serif";
      context.textBaseline = "middle";
      context.fillStyle = getComputedStyle(box).color;
      rows.forEach((bar, row) => {
        const end = ((bars.at[bar] ?? 0) + (bars.length[bar] ?? 0) - first) * perUnit;
        const text = labels[bars.label[bar] ?? 0] ?? "";
        const room = width - end > context.measureText(text).width + 8;
        context.textAlign = room ? "left" : "right";
        const begin = ((bars.at[bar] ?? 0) - first) * perUnit;
        context.fillText(text, room ? end + 5 : Math.max(begin - 5, 60), row * step + Math.min(step, 20) / 2);
      });
    }
    if (from) from.textContent = rows.length ? `+ ${took(bars.began[rows[0] ?? 0] ?? 0)}` : "";
    const end = rows[rows.length - 1];
    if (to && end !== undefined) to.textContent = `+ ${took((bars.began[end] ?? 0) + (bars.took[end] ?? 0))}`;
  }

  function redraw() {
    drawing ||= requestAnimationFrame(draw);
  }

  /** @param {number} start @param {number} end */
  function look(start, end) {
    const size = Math.min(Math.max(end - start, MIN_WINDOW), WHOLE);
    first = Math.min(Math.max(start, 0), WHOLE - size);
    last = first + size;
    redraw();
  }

  /** @param {string | undefined} action */
  function act(action) {
    const size = last - first;
    const middle = first + size / 2;
    if (action === "in") look(middle - size / 4, middle + size / 4);
    if (action === "out") look(middle - size, middle + size);
    if (action === "earlier") look(first - size / 2, last - size / 2);
    if (action === "later") look(first + size / 2, last + size / 2);
    if (action === "all") look(0, WHOLE);
  }

  /** The unit under a pointer. @param {MouseEvent} event */
  function unitAt(event) {
    const part = event.offsetX / Math.max(canvas.clientWidth, 1);
    return first + Math.min(Math.max(part, 0), 1) * (last - first);
  }

  /** @param {PointerEvent} event */
  function tell(event) {
    if (!timeline || !under) return;
    const { bars, labels } = timeline;
    const bar = rows[Math.floor((event.offsetY / Math.max(canvas.clientHeight, 1)) * rows.length)];
    if (bar === undefined) return;
    const end = bars.ended[bar] ? took(bars.took[bar] ?? 0) : "in progress";
    const failed = bars.failed[bar] ? ", failed" : "";
    under.textContent = `${labels[bars.label[bar] ?? 0]} at + ${took(bars.began[bar] ?? 0)}: ${end}${failed}`;
  }

  async function ask() {
    asked = Date.now();
    try {
      const answer = await fetch(box.dataset.bars ?? "", { headers: { Accept: "application/json" } });
      if (!answer.ok) throw new Error();
      /** @type {Timeline} */
      const found = await answer.json();
      if (!found.is_whole) {
        says.textContent = `Reading older events: ${found.read.toLocaleString("en")} of ${found.events.toLocaleString("en")}…`;
        setTimeout(ask, ASK_AGAIN);
        return;
      }
      timeline = found;
      const count = found.bars.at.length.toLocaleString("en");
      const older = found.left_out ? `, without the ${found.left_out.toLocaleString("en")} oldest` : "";
      const short = found.short ? ` Drawn short, because nothing was called then: ${found.short}.` : "";
      says.textContent = `${count} calls in ${took(found.seconds)}${older}.${short}`;
      redraw();
    } catch {
      says.textContent = "The older events cannot be read now; the page tries again.";
      setTimeout(ask, MIN_PAUSE);
    }
  }

  box.hidden = false;
  box.querySelectorAll("button").forEach((button) =>
    button.addEventListener("click", () => act(button.dataset.do)),
  );
  canvas.addEventListener("pointerdown", (event) => {
    pressed = unitAt(event);
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointerup", (event) => {
    const start = pressed;
    pressed = undefined;
    if (start === undefined) return;
    const end = unitAt(event);
    if (Math.abs(end - start) > (last - first) / 100) look(Math.min(start, end), Math.max(start, end));
  });
  canvas.addEventListener("pointermove", tell);
  new ResizeObserver(redraw).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  document.addEventListener("coterie:fresh", () => {
    if (timeline && Date.now() - asked > MIN_PAUSE) void ask();
  });
  void ask();
}

document.querySelectorAll("[data-bars]").forEach((box) => {
  if (box instanceof HTMLElement) picture(box);
});
