"""Prices of model calls and context windows of models: the worker's own, else the public ones.

A call that neither knows has no price, which is not the same as being free.
"""

import sys
from collections.abc import Mapping
from typing import Literal

from coterie.activities.contracts import TokenUsage
from coterie.activities.providers.provider import ProviderSettings
from coterie.activities.public_prices import PACKAGE, context_window, public_cost
from coterie.dsl.model.price import BATCH_SHARE, Price, configured_price
from coterie.dsl.model.vendors.vendors import VENDORS


class Pricing:
    """The prices of one worker."""

    def __init__(self, providers: Mapping[str, ProviderSettings]) -> None:
        self._providers = providers

    @property
    def ready(self) -> bool:
        """Whether the public prices are loaded, which takes half a second."""
        return PACKAGE in sys.modules

    def configured(self, provider: str, model: str) -> Price | Literal["public"] | None:
        """Return the price by the worker's own configuration; None if there is none."""
        settings = self._providers.get(provider)
        return None if settings is None else configured_price(settings.kind, settings.prices, model)

    def batch_share(self, provider: str, model: str) -> float:
        """Return what a call in a batch costs, as a share of the price of any other call."""
        own = self.configured(provider, model)
        share = own.batch_share if isinstance(own, Price) else None
        return BATCH_SHARE if share is None else share

    def public(self, provider: str, model: str, usage: TokenUsage) -> float | None:
        """Return the cost of a call by the public prices, in US dollars; None if unknown."""
        settings = self._providers[provider]
        counts = (usage.input_tokens, usage.output_tokens)
        cache = (usage.cached_tokens, usage.cache_write_tokens, usage.hour_cache_write_tokens)
        cost = public_cost(settings.kind, settings.api_base, model, *counts, *cache)
        return None if cost is None else cost.input + cost.output

    def context_window(self, provider: str, model: str) -> int | None:
        """Return the context window of a model in tokens; None if unknown."""
        settings = self._providers.get(provider)
        if settings is None:
            return None
        if settings.context_window is not None or settings.kind not in VENDORS:
            return settings.context_window
        return context_window(settings.kind, settings.api_base, model)

    def configured_window(self, provider: str) -> int | None:
        """Return the context window by the worker's own configuration; None if it has none."""
        settings = self._providers.get(provider)
        return None if settings is None else settings.context_window
