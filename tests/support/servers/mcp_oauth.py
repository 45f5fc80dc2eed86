"""An authorization server, and an MCP server of the SDK that takes its tokens, in this process.

It checks what such a server must: PKCE, the redirect, that codes and refresh tokens work once, the
secret or the signed assertion of a client.
"""

import asyncio
import base64
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from urllib.parse import urlencode

import jwt
import uvicorn
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route

from coterie.http_server.http_listener import listener

CLIENT, SECRET = "fleet", "a secret: of+the fleet"
_KEY = generate_private_key(SECP256R1())
PRIVATE_KEY = _KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
_PUBLIC_KEY = _KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@dataclass
class OAuthServer:
    """Both servers; tests change them between requests."""

    origin: str = ""
    life: float = 3600.0
    """Seconds of an access token."""
    refuses_renewal: bool = False
    is_away: bool = False
    valid: set[str] = field(default_factory=set[str])
    """Access tokens that count."""
    grants: list[str] = field(default_factory=list[str])
    """The kinds of grants that gave tokens."""
    calls: list[str] = field(default_factory=list[str])
    """The subjects of calls of the tool."""
    registered: list[object] = field(default_factory=list[object])
    says_also: dict[str, object] = field(default_factory=dict[str, object])
    """In its metadata."""
    issuer: str | None = None
    """What it names in the answer of a sign-in."""
    _codes: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    _refresh: str = ""

    @property
    def url(self) -> str:
        return f"{self.origin}/mcp"

    async def verify_token(self, token: str) -> AccessToken | None:
        if token not in self.valid:
            return None
        return AccessToken(token=token, client_id="c", scopes=["notes"], subject="ann")

    async def metadata(self, _: Request) -> Response:
        return JSONResponse(
            {
                "issuer": f"{self.origin}/",  # so the server of the SDK names it, too
                "authorization_endpoint": f"{self.origin}/authorize",
                "token_endpoint": f"{self.origin}/token",
                "registration_endpoint": f"{self.origin}/register",
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
                **self.says_also,
            }
        )

    async def register(self, request: Request) -> Response:
        asked = await request.json()
        self.registered.append(asked)
        return JSONResponse({**asked, "client_id": "registered"}, 201)

    async def authorize(self, request: Request) -> Response:
        query = dict(request.query_params)
        code = secrets.token_urlsafe(8)
        self._codes[code] = query
        issuer = {} if self.issuer is None else {"iss": self.issuer}
        answer = urlencode({"code": code, "state": query["state"], **issuer})
        return RedirectResponse(f"{query['redirect_uri']}?{answer}", 302)

    async def token(self, request: Request) -> Response:
        form = {key: str(value) for key, value in (await request.form()).items()}
        if self.is_away:
            return Response(status_code=503)
        refusal = self._refusal(form, request.headers.get("authorization", ""))
        if refusal is not None:
            return JSONResponse({"error": refusal}, 400)
        self.grants.append(form["grant_type"])
        access = f"access-{secrets.token_urlsafe(8)}"
        self.valid.add(access)
        answer: dict[str, object] = {"access_token": access, "token_type": "Bearer"}
        answer |= {"expires_in": self.life, "scope": "notes"}
        if form["grant_type"] != "client_credentials":
            self._refresh = f"refresh-{secrets.token_urlsafe(8)}"
            answer["refresh_token"] = self._refresh
        return JSONResponse(answer)

    def _refusal(self, form: dict[str, str], header: str) -> str | None:
        assert form["resource"] == self.url
        match form["grant_type"]:
            case "authorization_code":
                query = self._codes.pop(form["code"], None)
                digest = sha256(form["code_verifier"].encode()).digest()
                challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
                if query is None or query["code_challenge"] != challenge:
                    return "invalid_grant"
                return None if query["redirect_uri"] == form["redirect_uri"] else "invalid_grant"
            case "refresh_token":
                is_right = form["refresh_token"] == self._refresh and not self.refuses_renewal
                self._refresh = ""  # a token that is used twice ends the whole grant
                return None if is_right else "invalid_grant"
            case "client_credentials" if "client_assertion" in form:
                try:
                    jwt.decode(
                        form["client_assertion"],
                        _PUBLIC_KEY,
                        algorithms=["ES256"],
                        audience=f"{self.origin}/token",
                        subject=CLIENT,
                        options={"require": ["exp", "iat", "jti"]},
                    )
                except jwt.PyJWTError:
                    return "invalid_client"
                return None
            case _:
                pair = "fleet:a%20secret%3A%20of%2Bthe%20fleet"
                expected = f"Basic {base64.b64encode(pair.encode()).decode()}"
                return None if header == expected else "invalid_client"


@asynccontextmanager
async def oauth_server() -> AsyncGenerator[OAuthServer]:
    """Both servers at a port of this machine."""
    made = OAuthServer()
    at = listener(0)  # listens from here on
    made.origin = f"http://127.0.0.1:{at.getsockname()[1]}"
    server = MCPServer(
        "notes",
        token_verifier=made,
        auth=AuthSettings(
            issuer_url=AnyHttpUrl(made.origin),
            resource_server_url=AnyHttpUrl(made.url),
            required_scopes=["notes"],
            validate_token_resource=False,
        ),
    )

    @server.tool()
    def add(a: int) -> str:  # pyright: ignore[reportUnusedFunction]
        """Adds a note."""
        made.calls.append(f"add {a}")
        return f"added {a}"

    inner = server.streamable_http_app()
    routes = [
        Route("/.well-known/oauth-authorization-server", made.metadata),
        Route("/register", made.register, methods=["POST"]),
        Route("/authorize", made.authorize),
        Route("/token", made.token, methods=["POST"]),
        Mount("/", inner),
    ]
    app = Starlette(routes=routes)
    running = uvicorn.Server(
        uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
    )

    async def serve() -> None:
        async with server.session_manager.run():
            await running.serve(sockets=[at])

    serving = asyncio.create_task(serve())
    try:
        yield made
    finally:
        running.should_exit = True
        await serving
