"""Asks a provider as a worker does: through the registry and the real SDK, over HTTP."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from coterie.activities.providers.message_model import ModelMessage
from coterie.activities.providers.provider import Completion, ModelRequest, ProviderSettings
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.providers.provider_registry import Providers
from tests.support.servers.model_server import ModelServer


@dataclass(frozen=True, slots=True)
class Api:
    """One API of a kind of provider, and where a server speaks it."""

    kind: str
    base: str
    """What an `api_base` adds to the address of the server."""
    path: str
    """What a request adds to the `api_base`."""
    turns: str
    """The key of a request that has the messages."""
    section: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the section of a provider says for this API, beside its kind."""


APIS = {
    "anthropic": Api("anthropic", "", "/v1/messages", "messages"),
    "openai": Api("openai", "/v1", "/chat/completions", "messages"),
    "responses": Api("openai", "/v1", "/responses", "input", {"api": "responses"}),
}
"""Everything that tests know of an API; one that is not here is a KeyError."""

KINDS = tuple(dict.fromkeys(api.kind for api in APIS.values()))
KEY = "sk-secret-0123456789abcdef"


def settings(kind: str, url: str | None, key: str | None = KEY) -> ProviderSettings:
    """A provider of this kind, or of this API, at this address."""
    api = APIS[kind]
    return ProviderSettings(name=kind, kind=api.kind, api_base=url, api_key=key, **api.section)


def section(api: str, url: str) -> dict[str, Any]:
    """A document's section of a provider that asks a server at this address by an API."""
    return {"kind": APIS[api].kind, "api_base": url + APIS[api].base, **APIS[api].section}


def url_of(api: str, server: ModelServer) -> str:
    """The stand-in's address for this API."""
    return server.url + APIS[api].base


def request(prompt: str = "hello", **fields: Any) -> ModelRequest:
    """A request with one user turn."""
    given: dict[str, Any] = {
        "model": "m-1",
        "messages": (ModelMessage.of("user", prompt),),
        **fields,
    }
    return ModelRequest(**given)


async def ask(kind: str, url: str, asked: ModelRequest | None = None) -> Completion:
    """One call by a provider made for it."""
    providers = Providers({kind: settings(kind, url)})
    try:
        return await providers.get(kind).complete(asked or request())
    finally:
        await providers.close()


async def failure(kind: str, url: str, asked: ModelRequest | None = None) -> ProviderFailure:
    """The failure that such a call ends in."""
    with pytest.raises(ProviderFailure) as caught:
        await ask(kind, url, asked)
    return caught.value
