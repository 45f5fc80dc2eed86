"""Prices of model calls and context windows of models: the worker's own, else the public ones.

The public data comes with a library that loads when used. A call that neither knows has no price,
which is not the same as being free.
"""

import sys
from collections.abc import Mapping
from typing import Literal, NamedTuple

from coterie.activities.contracts import TokenUsage
from coterie.activities.providers.provider import ProviderSettings
from coterie.dsl.model.price import BATCH_SHARE, Price, configured_price
from coterie.dsl.model.vendors.vendors import VENDORS

PACKAGE = "genai_prices"


class PublicCost(NamedTuple):
    """The cost of one call by the public prices, in US dollars."""

    input: float
    output: float


def public_cost(
    kind: str,
    api_base: str | None,
    model: str,
    input_tokens: int,
    output_tokens: int,
    cached_tokens: int = 0,
    cache_write_tokens: int = 0,
    hour_cache_write_tokens: int = 0,
) -> PublicCost | None:
    """Price a call; None when the public prices do not know the model.

    The first call loads the library.

    Args:
        kind: The provider's adapter, which is a vendor's name.
        api_base: An address other than the vendor's; it then decides who is paid.
        model: As the provider calls it.
        input_tokens: All tokens of the prompt; long prompts may have a higher rate.
        output_tokens: Tokens of the answer.
        cached_tokens: Input tokens that came from the provider's cache.
        cache_write_tokens: Input tokens that the provider put into its cache.
        hour_cache_write_tokens: Of these, those that it keeps for an hour.
    """
    from genai_prices import Usage, calc_price

    usage = Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cache_read_tokens=cached_tokens or None,
        cache_write_tokens=cache_write_tokens or None,
        cache_write_1h_tokens=hour_cache_write_tokens or None,
    )
    try:
        if api_base is not None:
            found = calc_price(usage, model, provider_api_url=api_base)
        else:
            found = calc_price(usage, model, provider_id=kind)
    except LookupError:
        return None
    known = found.model_price
    if known.input_mtok is None or known.output_mtok is None:
        return None
    return PublicCost(float(found.input_price), float(found.output_price))


def context_window(kind: str, api_base: str | None, model: str) -> int | None:
    """Return a model's context window in tokens, by the public data; None if unknown.

    Args:
        kind: The provider's adapter, which is a vendor's name.
        api_base: An address other than the vendor's.
        model: As the provider calls it.
    """
    from genai_prices.data_snapshot import get_snapshot

    vendor = kind if api_base is None else None
    try:
        _, found = get_snapshot().find_provider_model(model, None, vendor, api_base)
    except LookupError:
        return None
    return found.context_window


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
        found = public_cost(settings.kind, settings.api_base, model, *counts, *cache)
        return None if found is None else found.input + found.output

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
