"""The providers of a worker: created from its settings on first use, once per process.

Importing this module loads no SDK: a worker pays only for those that its teams use.
"""

import threading
from collections.abc import Callable, Mapping

from coterie.activities.contracts import FailureType
from coterie.activities.providers.provider import ConnectedProvider, ProviderSettings
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.providers.scripted import ScriptedProvider
from coterie.dsl.errors import listed, nearest
from coterie.dsl.model.vendors.vendors import VENDORS, VendorClient


def _anthropic(settings: ProviderSettings) -> ConnectedProvider:
    from coterie.activities.providers.anthropic import AnthropicProvider

    return AnthropicProvider(settings)


def _openai(settings: ProviderSettings) -> ConnectedProvider:
    if settings.vendor_api in ("responses", "compatible_responses"):
        from coterie.activities.providers.openai_responses import OpenAIResponsesProvider

        return OpenAIResponsesProvider(settings)
    from coterie.activities.providers.openai import OpenAIProvider

    return OpenAIProvider(settings)


Maker = Callable[[ProviderSettings], ConnectedProvider]

_CLIENTS: Mapping[VendorClient, Maker] = {"anthropic": _anthropic, "openai": _openai}

KINDS: Mapping[str, Maker] = {
    **{kind: _CLIENTS[vendor.client] for kind, vendor in VENDORS.items()},
    "scripted": ScriptedProvider.of,
}
"""The kinds of providers that Coterie has; packages may add others."""


class Providers:
    """Creates the providers of `{name: settings}` on demand."""

    def __init__(
        self, settings: Mapping[str, ProviderSettings], others: Mapping[str, Maker] | None = None
    ) -> None:
        """Take what the worker's configuration says.

        Args:
            settings: By the name of the provider.
            others: Kinds of providers besides Coterie's own, which they cannot replace.
        """
        self._settings = dict(settings)
        self._kinds = {**(others or {}), **KINDS}
        self._made: dict[str, ConnectedProvider] = {}
        self._making = threading.Lock()

    def get(self, name: str) -> ConnectedProvider:
        """Return the provider of this name; any thread may call it.

        The first call for a kind imports its SDK, which takes seconds of CPU.

        Raises:
            ProviderFailure: Unknown name or kind, missing API key, or unreadable script.
        """
        with self._making:
            if name not in self._made:
                self._made[name] = self._make(name)
            return self._made[name]

    async def close(self) -> None:
        """Close all created providers; a later `get` creates them again."""
        while self._made:
            _, provider = self._made.popitem()
            await provider.close()

    def _make(self, name: str) -> ConnectedProvider:
        settings = self._settings.get(name)
        if settings is None:
            raise _unknown(f"this worker has no provider {name!r}", name, self._settings)
        make = self._kinds.get(settings.kind)
        if make is None:
            raise _unknown(
                f"provider {name!r} has the unknown kind {settings.kind!r}",
                settings.kind,
                self._kinds,
            )
        return make(settings)


def _unknown(what: str, name: str, choices: Mapping[str, object]) -> ProviderFailure:
    hint = nearest(name, choices)
    return ProviderFailure(
        FailureType.PROVIDER_REFUSED,
        f"{what}; allowed: {listed(choices)}" + (f": {hint}" if hint else ""),
        retryable=False,
    )
