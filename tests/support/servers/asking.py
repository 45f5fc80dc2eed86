"""Asks a provider as a worker does: through the registry and the real SDK, over HTTP."""

from typing import Any

import pytest

from activities.providers.message_model import ModelMessage
from activities.providers.provider import Completion, ModelRequest, ProviderSettings
from activities.providers.provider_failures import ProviderFailure
from activities.providers.provider_registry import Providers
from tests.support.servers.model_server import ModelServer

KINDS = ("anthropic", "openai")
APIS = (*KINDS, "responses")
"""The kinds, `openai` by Chat Completions, and its Responses API."""
KEY = "sk-secret-0123456789abcdef"


def settings(kind: str, url: str | None, key: str | None = KEY) -> ProviderSettings:
    """A provider of this kind, or of this API, at this address."""
    if kind == "responses":
        return ProviderSettings(
            name=kind, kind="openai", api="responses", api_base=url, api_key=key
        )
    return ProviderSettings(name=kind, kind=kind, api_base=url, api_key=key)


def url_of(kind: str, server: ModelServer) -> str:
    """The stand-in's address for this kind."""
    return server.anthropic_url if kind == "anthropic" else server.openai_url


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
