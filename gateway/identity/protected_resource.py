"""`/mcp` as a protected resource of OAuth: its metadata, and what a refusal tells a client.

A client that gets 401 reads the metadata (RFC 9728), signs its person in at the provider that they
name, and comes back with an access token for this address.
"""

import json
from typing import Final, NamedTuple

from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coterie.dsl.model.sections.access_document import AccessSection
from coterie.dsl.values import Json, JsonValue
from coterie.gateway.identity.identity import Role

RESOURCE_PATH: Final = "/mcp"
METADATA_PATH: Final = f"/.well-known/oauth-protected-resource{RESOURCE_PATH}"
_CHALLENGES: Final = {401: "invalid_token", 403: "insufficient_scope"}
_HEADERS: Final = {"Cache-Control": "max-age=300", "X-Content-Type-Options": "nosniff"}


class ProtectedResource(NamedTuple):
    """What clients must know to sign in."""

    origin: str
    issuer: str
    scopes: tuple[str, ...]
    """The scopes that name roles; none if scopes name no roles."""

    @property
    def address(self) -> str:
        """The address that access tokens must be made for."""
        return f"{self.origin}{RESOURCE_PATH}"

    def metadata(self) -> Json:
        """Return the document of RFC 9728."""
        scopes: list[JsonValue] = [*self.scopes]
        return {
            "resource": self.address,
            "authorization_servers": [self.issuer],
            **({"scopes_supported": scopes} if scopes else {}),
            "bearer_methods_supported": ["header"],
            "resource_name": "Coterie",
        }

    def challenge(self, status: int, *, shows_token: bool) -> str:
        """Return the header `WWW-Authenticate` of a refusal.

        Args:
            status: 401 or 403.
            shows_token: Whether the request has a token: without one, nothing is wrong with it.
        """
        parts = [f'error="{_CHALLENGES[status]}"'] if shows_token else []
        if self.scopes:
            parts.append(f'scope="{" ".join(self.scopes)}"')
        parts.append(f'resource_metadata="{self.origin}{METADATA_PATH}"')
        return f"Bearer {', '.join(parts)}"


def protected_resource(access: AccessSection) -> ProtectedResource | None:
    """Return what clients must know; None where no provider gives access tokens."""
    if access.oidc is None or access.public_url is None:
        return None
    prefix = access.oidc.scope_prefix
    scopes = () if prefix is None else tuple(f"{prefix}{role}" for role in Role)
    return ProtectedResource(access.public_url, access.oidc.issuer, scopes)


class ResourceLayer:
    """Stands around an application: serves the metadata, and completes refusals of the resource."""

    def __init__(self, app: ASGIApp, resource: ProtectedResource) -> None:
        """Take the application, and what clients must know."""
        self._app = app
        self._resource = resource

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer for the metadata, or pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] == METADATA_PATH and scope["method"] in ("GET", "HEAD"):
            text = json.dumps(self._resource.metadata())
            response = Response(text, headers=_HEADERS, media_type="application/json")
            await response(scope, receive, send)
        elif scope["path"] == RESOURCE_PATH:
            await self._app(scope, receive, self._challenging(scope, send))
        else:
            await self._app(scope, receive, send)

    def _challenging(self, scope: Scope, send: Send) -> Send:
        shows_token = any(name == b"authorization" for name, _ in scope["headers"])

        async def challenging(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] in _CHALLENGES:
                challenge = self._resource.challenge(message["status"], shows_token=shows_token)
                MutableHeaders(scope=message)["WWW-Authenticate"] = challenge
            await send(message)

        return challenging
