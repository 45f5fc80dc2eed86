// An OIDC provider for the tests: node provider.mjs CONFIG, where CONFIG is JSON.
// GET /control?keys=k2,k1&skew=900 changes its keys (the first signs) and its clock while it runs.
import { createServer } from "node:http";
import { generateKeyPairSync } from "node:crypto";
import { Provider } from "oidc-provider";

const { port, gateway, people, audience } = JSON.parse(process.argv[2]);
const issuer = `http://127.0.0.1:${port}`;
const now = Date.now.bind(Date);
const ROLES = ["viewer", "starter", "operator", "approver", "admin"].map((role) => `roles/${role}`);
let skew = 0;
Date.now = () => now() + 1000 * skew;

// Sessions and grants outlive a rotation, in which a new Provider takes over.
const stored = new Map();
class Adapter {
  constructor(name) { this.name = name; }
  key(id) { return `${this.name}:${id}`; }
  async upsert(id, payload) { stored.set(this.key(id), payload); }
  async find(id) { return stored.get(this.key(id)); }
  async findByUid(uid) { return [...stored.values()].find((one) => one.uid === uid); }
  async findByUserCode() { return undefined; }
  async consume(id) { stored.get(this.key(id)).consumed = Math.floor(Date.now() / 1000); }
  async destroy(id) { stored.delete(this.key(id)); }
  async revokeByGrantId(grant) {
    for (const [key, one] of stored) if (one.grantId === grant) stored.delete(key);
  }
}

const made = new Map();
function key(kid) {
  if (!made.has(kid)) {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    made.set(kid, { ...privateKey.export({ format: "jwk" }), kid, use: "sig", alg: "ES256" });
  }
  return made.get(kid);
}

function configuration(kids) {
  return {
    adapter: Adapter,
    jwks: { keys: kids.map(key) },
    cookies: { keys: ["only for tests"] },
    clients: [
      {
        client_id: "coterie",
        client_secret: "a secret: of+the client",
        redirect_uris: [`${gateway}/sign-in/callback`],
        post_logout_redirect_uris: [`${gateway}/signed-out`],
        grant_types: ["authorization_code", "refresh_token"],
        id_token_signed_response_alg: "ES256",
        backchannel_logout_uri: `${gateway}/sign-in/ended-at-provider`,
        backchannel_logout_session_required: true,
      },
      {
        client_id: "nightly",
        client_secret: "another secret",
        redirect_uris: [],
        response_types: [],
        grant_types: ["client_credentials"],
        token_endpoint_auth_method: "client_secret_post",
      },
    ],
    clientDefaults: { id_token_signed_response_alg: "ES256" },
    enabledJWA: { idTokenSigningAlgValues: ["ES256"] },
    pkce: { required: () => true },
    scopes: ["openid", "email", "profile", "groups", "offline_access", ...ROLES],
    claims: {
      openid: ["sub"], email: ["email", "email_verified"], profile: ["name"], groups: ["groups"],
    },
    async findAccount(_, id) {
      const { groups = [] } = people[id] ?? {};
      const email = { email: `${id}@example.com`, email_verified: true };
      return { accountId: id, claims: () => ({ sub: id, name: id, groups, ...email }) };
    },
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    ttl: {
      AccessToken: 300, AuthorizationCode: 60, ClientCredentials: 300, Grant: 86400,
      IdToken: 300, Interaction: 600, RefreshToken: 86400, Session: 86400,
    },
    features: {
      devInteractions: { enabled: true },
      backchannelLogout: { enabled: true },
      clientCredentials: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => undefined,
        getResourceServerInfo: (_, resource) => ({
          audience: resource === `${gateway}/mcp` ? resource : audience,
          scope: ROLES.join(" "),
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: "ES256" } },
        }),
      },
      registration: { enabled: true },
    },
    async extraTokenClaims(_, token) {
      return token.accountId === undefined ? {} : { groups: people[token.accountId].groups ?? [] };
    },
    // Its own fetch refuses addresses of this machine.
    fetch: (url, { dispatcher, ...options }) => fetch(url, options),
  };
}

let answer;
function use(kids) {
  const provider = new Provider(issuer, configuration(kids));
  provider.on("server_error", (_, error) => console.error(error));
  provider.on("backchannel.error", (_, error) => console.error(error));
  answer = provider.callback();
}

use(["k1"]);
createServer((request, response) => {
  const url = new URL(request.url, issuer);
  if (url.pathname !== "/control") return answer(request, response);
  if (url.searchParams.has("skew")) skew = Number(url.searchParams.get("skew"));
  if (url.searchParams.has("keys")) use(url.searchParams.get("keys").split(","));
  response.end("done\n");
}).listen(port, "127.0.0.1", () => console.log("ready"));
