// resumable.js
export async function resumable(url, init) {
  let response = await fetch(url, init), again = { ...init, headers: { ...init.headers } };
  if (!response.ok) return response;
  const { readable, writable } = new TextEncoderStream(), out = writable.getWriter();
  (async function copy(wait) {
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = "", part; (part = await reader?.read().catch(() => null))?.value; ) {
      const [events, id, data] = /[^]*^id: (.+)\ndata: ([^\n]+)\n\n/m.exec((rest += part.value)) ?? [];
      if (!events) continue; // only whole ones count
      [rest, wait, again.headers["Last-Event-ID"]] = [rest.slice(events.length), 0, id];
      await out.write(events);
      if (/^{"type": "RUN_(FINISHED|ERROR)"/.test(data)) return out.close();
    }
    await new Promise((done) => setTimeout(done, wait));
    response = await fetch(url, again).catch(() => init.signal?.throwIfAborted() ?? new Response());
    if (response.status >= 400 && response.status < 500) throw new Error(await response.text());
    return copy(Math.min(wait + 100, 5000));
  })(0).catch((error) => out.abort(error));
  return new Response(readable, response);
}
