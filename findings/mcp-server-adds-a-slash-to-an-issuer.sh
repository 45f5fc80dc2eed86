#!/usr/bin/env bash
# A server of the MCP SDK that gets its issuer as `AnyHttpUrl("https://login.example.com")`, as its types ask
# for, names it with a slash at the end in its protected resource metadata; given as a text, without one. RFC 8414
# compares issuers as texts, so the client of the same SDK refuses the metadata of the authorization server.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mcp==2.3.0
"$folder/venv/bin/python" - <<'PYTHON'
import asyncio
import json
from importlib.metadata import version

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientMetadata
from pydantic import AnyHttpUrl

ISSUER, SERVER = "https://login.example.com", "https://mcp.example.com"


class Nobody:
    async def verify_token(self, token):
        return None


class Nothing:
    async def get_tokens(self):
        return None

    async def get_client_info(self):
        return None


server = MCPServer(
    "notes",
    log_level="CRITICAL",
    token_verifier=Nobody(),
    auth=AuthSettings(
        issuer_url=AnyHttpUrl(ISSUER), resource_server_url=f"{SERVER}/mcp", validate_token_resource=True
    ),
)
application = httpx2.ASGITransport(server.streamable_http_app(host="mcp.example.com"))


class Internet(httpx2.AsyncBaseTransport):
    """Both servers; the authorization server calls itself as the other one was told."""

    async def handle_async_request(self, request):
        if request.url.host == "mcp.example.com":
            if request.url.path == "/mcp":
                return httpx2.Response(401, request=request)
            return await application.handle_async_request(request)
        metadata = {
            "issuer": ISSUER,
            "authorization_endpoint": f"{ISSUER}/authorize",
            "token_endpoint": f"{ISSUER}/token",
            "response_types_supported": ["code"],
        }
        return httpx2.Response(200, json=metadata, request=request)


async def main():
    path = "/.well-known/oauth-protected-resource/mcp"
    async with httpx2.AsyncClient(transport=Internet(), base_url=SERVER) as http:
        named = json.loads((await http.get(path)).text)["authorization_servers"]
    client = OAuthClientMetadata(redirect_uris=["http://127.0.0.1:1/callback"])
    auth = OAuthClientProvider(f"{SERVER}/mcp", client, Nothing())
    said = "nothing"
    async with httpx2.AsyncClient(transport=Internet(), auth=auth) as http:
        try:
            await http.post(f"{SERVER}/mcp", json={})
        except OAuthFlowError as error:
            said = str(error)
    print("mcp", version("mcp"))
    print("the server was told", ISSUER, "and names", *named)
    print("the client says:", said)
    as_text = AuthSettings(issuer_url=ISSUER, resource_server_url=SERVER, validate_token_resource=True)
    print("given as a text it stays", as_text.issuer_url)
    assert str(as_text.issuer_url) == ISSUER, "the behaviour has changed"
    assert named == [f"{ISSUER}/"], "the behaviour has changed"
    assert "issuer mismatch" in said, "the behaviour has changed"


asyncio.run(main())
PYTHON
