// resumable.js
export async function resumable(url, init) {
  let response = await fetch(url, init), last, ended = !response.ok, wait = 0;
  async function* events() {
    while (!ended) {
      const decoder = new TextDecoder(), reader = response.body?.getReader();
      for (let rest = "", part; (part = await reader?.read().catch(() => null))?.value; ) {
        const parts = (rest + decoder.decode(part.value, { stream: true })).split("\n\n");
        rest = parts.pop();
        for (const event of parts) {
          last = /^id: (.+)$/m.exec(event)?.[1] ?? last;
          ended ||= /^data: {"type": "RUN_(FINISHED|ERROR)"/m.test(event);
          wait = 0;
          yield new TextEncoder().encode(`${event}\n\n`);
        }
      }
      if (ended) return;
      await new Promise((done) => setTimeout(done, wait));
      wait = Math.min(wait + 100, 5000);
      const headers = { ...init.headers, ...(last && { "Last-Event-ID": last }) };
      response = await fetch(url, { ...init, headers }).catch(() => new Response());
      if (response.status >= 400 && response.status < 500) throw new Error(await response.text());
      init.signal?.throwIfAborted();
    }
  }
  const all = events(), { status, headers } = response;
  const pull = async (out) => {
    const { value, done } = await all.next();
    return done ? out.close() : out.enqueue(value);
  };
  return ended ? response : new Response(new ReadableStream({ pull }), { status, headers });
}
