"""The providers of a worker: made from its own settings, when first used, once per process.

Importing this loads no SDK: a worker pays only for the ones that its teams use.
"""

from collections.abc import Callable, Mapping

from activities.contracts import FailureType
from activities.providers.provider import ModelProvider, ProviderSettings
from activities.providers.provider_failures import ProviderFailure
from dsl.errors import listed, nearest


def _anthropic(settings: ProviderSettings) -> ModelProvider:
    from activities.providers.anthropic import AnthropicProvider

    return AnthropicProvider(settings)


def _openai(settings: ProviderSettings) -> ModelProvider:
    from activities.providers.openai import OpenAIProvider

    return OpenAIProvider(settings)


def _scripted(settings: ProviderSettings) -> ModelProvider:
    from activities.providers.scripted import ScriptedProvider

    return ScriptedProvider.of(settings)


KINDS: dict[str, Callable[[ProviderSettings], ModelProvider]] = {
    "anthropic": _anthropic,
    "openai": _openai,
    "scripted": _scripted,
}
"""Every kind of provider there is. A new one is a file and a line here."""


class Providers:
    """`{name: settings}` made into providers, on demand."""

    def __init__(self, settings: Mapping[str, ProviderSettings]) -> None:
        self._settings = dict(settings)
        self._made: dict[str, ModelProvider] = {}

    def get(self, name: str) -> ModelProvider:
        """The provider of this name.

        The first call for a kind imports its SDK, which takes about a second of CPU.

        Raises:
            ProviderFailure: an unknown name or kind, no API key, an unreadable script.
        """
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    async def close(self) -> None:
        """Close every provider that was made; they are made anew when asked for again."""
        while self._made:
            _, provider = self._made.popitem()
            await provider.close()

    def _make(self, name: str) -> ModelProvider:
        settings = self._settings.get(name)
        if settings is None:
            raise _unknown(f"provider {name!r} is not known to this worker", name, self._settings)
        make = KINDS.get(settings.kind)
        if make is None:
            raise _unknown(
                f"provider {name!r} is of the unknown kind {settings.kind!r}", settings.kind, KINDS
            )
        return make(settings)


def _unknown(what: str, name: str, known: Mapping[str, object]) -> ProviderFailure:
    hint = nearest(name, known)
    return ProviderFailure(
        FailureType.PROVIDER_REFUSED,
        f"{what}; known are {listed(known)}" + (f": {hint}" if hint else ""),
        retryable=False,
    )
