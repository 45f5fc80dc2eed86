// Serves the page, and passes its requests on to the gateway with a token, which no browser sees.
import { buildSync } from "esbuild";
import { readFileSync } from "node:fs";
import http from "node:http";

const { COTERIE_TOKEN, GATEWAY = "http://127.0.0.1:7400", PORT = "7500" } = process.env;
const at = (file) => new URL(file, import.meta.url);
const asked = { bundle: true, write: false, format: "esm", entryPoints: [at("chat.js").pathname] };
const script = buildSync(asked).outputFiles[0].contents;

const server = http.createServer((request, response) => {
  const { host = "", "sec-fetch-site": site } = request.headers;
  const own = site === "same-origin" && host.startsWith("127.0.0.1:"); // no page of others
  if (own && request.method === "POST" && request.url.startsWith("/agui/")) {
    const names = ["content-type", "content-length", "last-event-id"];
    const sent = names.filter((name) => name in request.headers);
    const headers = Object.fromEntries(sent.map((name) => [name, request.headers[name]]));
    headers.authorization = `Bearer ${COTERIE_TOKEN}`;
    const passed = http.request(GATEWAY + request.url, { method: "POST", headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response).on("close", () => answer.destroy());
      answer.on("error", () => response.destroy());
    });
    passed.on("error", () => response.writeHead(502).end());
    request.pipe(passed);
  } else if (request.url === "/page.js") {
    response.writeHead(200, { "content-type": "text/javascript" }).end(script);
  } else {
    const page = readFileSync(at("index.html"));
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(page);
  }
});
server.listen(Number(PORT), "127.0.0.1", () => console.log(`open http://127.0.0.1:${server.address().port}`));
