"""A small OIDC provider in this process, for units; tests/doors have a real one.

It checks what a provider must: the client's secret, PKCE, the redirect, that each code and refresh
token works once.
"""

import base64
import json
from dataclasses import dataclass, field
from hashlib import sha256
from urllib.parse import parse_qs, urlsplit

import httpx2
from joserfc import jwt
from joserfc.jwk import ECKey

from coterie.dsl.values import Json, JsonValue

ISSUER = "https://login.example.com"
CLIENT, SECRET = "coterie", "s:e/c r+t"
BACK_CHANNEL_EVENT = "http://schemas.openid.net/event/backchannel-logout"


def made_key(key_id: str) -> ECKey:
    """A key that signs."""
    return ECKey.generate_key("P-256", {"kid": key_id, "use": "sig", "alg": "ES256"})


@dataclass
class Provider:
    """The provider: tests change it between requests."""

    now: float = 1_000_000.0
    keys: list[ECKey] = field(default_factory=lambda: [made_key("k1")])
    """The first signs."""
    claims: Json = field(default_factory=lambda: {"sub": "7", "sid": "s1"})
    userinfo: Json = field(default_factory=dict[str, JsonValue])
    metadata: Json = field(default_factory=dict[str, JsonValue])
    """What its discovery document says otherwise."""
    refuses_renewal: bool = False
    is_away: bool = False
    nonce: str | None = None
    """In the id token, instead of the right one."""
    asked: list[str] = field(default_factory=list[str])
    """The paths of all requests."""
    revoked: list[str] = field(default_factory=list[str])
    _codes: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    _refresh: str | None = None
    _count: int = 0

    @property
    def transport(self) -> httpx2.MockTransport:
        """What a client uses instead of the network."""
        return httpx2.MockTransport(self._answer)

    def sign_in(self, address: str) -> dict[str, str]:
        """The person signs in at an authorization address; return the query of the callback."""
        query = {key: values[0] for key, values in parse_qs(urlsplit(address).query).items()}
        assert query["code_challenge_method"] == "S256"
        code = f"code-{self._next()}"
        self._codes[code] = query
        return {"code": code, "state": query["state"], "iss": ISSUER}

    def token(self, type: str = "JWT", /, **claims: JsonValue) -> str:
        """A signed token of this provider, for an hour."""
        key = self.keys[0]
        header = {"alg": "ES256", "kid": key.kid or "", "typ": type}
        given: Json = {"iss": ISSUER, "iat": int(self.now), "exp": int(self.now) + 3600, **claims}
        kept = {name: value for name, value in given.items() if value is not None}
        return jwt.encode(header, kept, key, algorithms=["ES256"])

    def _next(self) -> int:
        self._count += 1
        return self._count

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path
        self.asked.append(path)
        if self.is_away:
            raise httpx2.ConnectError("away")
        match path:
            case "/.well-known/openid-configuration":
                return httpx2.Response(200, json=self._metadata())
            case "/keys":
                listed = [key.as_dict(private=False) for key in self.keys]
                return httpx2.Response(200, json={"keys": [*listed, {"kty": "of the future"}]})
            case "/userinfo":
                return httpx2.Response(200, json={**self.userinfo})
            case "/token":
                return self._tokens(request)
            case "/revoke":
                self.revoked.append(_form(request)["token"])
                return httpx2.Response(200)
            case _:
                return httpx2.Response(404)

    def _metadata(self) -> Json:
        return {
            "issuer": ISSUER,
            "authorization_endpoint": f"{ISSUER}/auth",
            "token_endpoint": f"{ISSUER}/token",
            "jwks_uri": f"{ISSUER}/keys",
            "userinfo_endpoint": f"{ISSUER}/userinfo",
            "end_session_endpoint": f"{ISSUER}/end",
            "revocation_endpoint": f"{ISSUER}/revoke",
            **self.metadata,
        }

    def _tokens(self, request: httpx2.Request) -> httpx2.Response:
        form = _form(request)
        expected = base64.b64encode(b"coterie:s%3Ae%2Fc+r%2Bt").decode()
        if request.headers.get("authorization") != f"Basic {expected}":
            return httpx2.Response(401, json={"error": "invalid_client"})
        nonce: str | None = None
        if form["grant_type"] == "authorization_code":
            query = self._codes.pop(form["code"], None)
            digest = sha256(form["code_verifier"].encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            if query is None or query["code_challenge"] != challenge:
                return httpx2.Response(400, json={"error": "invalid_grant"})
            assert query["redirect_uri"] == form["redirect_uri"]
            nonce = self.nonce or query["nonce"]
        elif self.refuses_renewal or form["refresh_token"] != self._refresh:
            self._refresh = None  # a token that is used twice ends the whole grant
            return httpx2.Response(400, json={"error": "invalid_grant"})
        self._refresh = f"refresh-{self._next()}"
        claims: Json = {"aud": CLIENT, "nonce": nonce, **self.claims}
        tokens = {
            "id_token": self.token(**claims),
            "access_token": "access-secret",
            "refresh_token": self._refresh,
            "token_type": "Bearer",
        }
        return httpx2.Response(200, content=json.dumps(tokens))


def _form(request: httpx2.Request) -> dict[str, str]:
    return {key: values[0] for key, values in parse_qs(request.content.decode()).items()}
