"""Prices of models, as a person writes them, and which of several prices applies."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from coterie.dsl.values import Frozen

MILLION = 1_000_000
BATCH_SHARE = 0.5
"""What a call in a batch costs at Anthropic and OpenAI, as a share of the price of others."""


class Price(Frozen):
    """What a model costs, in US dollars for a million tokens."""

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """For input that the provider had in its cache. Default: the price of other input."""
    cache_write: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """For input that the provider puts into its cache. Default: the price of other input."""
    cache_write_1h: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """For input that the provider keeps for an hour. Default: twice the price of other input, which
    is what Anthropic asks."""
    batch_share: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    """What a call in a batch costs, as a share of the price of any other call. Default: half."""

    def of(
        self,
        input_tokens: int,
        output_tokens: int,
        cached_tokens: int = 0,
        cache_write_tokens: int = 0,
        hour_cache_write_tokens: int = 0,
    ) -> float:
        """Return the price of these tokens; those read from and put into a cache are input too."""
        cached = self.input if self.cached is None else self.cached
        write_price = self.input if self.cache_write is None else self.cache_write
        for_an_hour = 2 * self.input if self.cache_write_1h is None else self.cache_write_1h
        fresh = input_tokens - cached_tokens - cache_write_tokens
        paid = fresh * self.input + cached_tokens * cached
        paid += (cache_write_tokens - hour_cache_write_tokens) * write_price
        paid += hour_cache_write_tokens * for_an_hour
        return (paid + output_tokens * self.output) / MILLION


FREE = Price(input=0, output=0)
"""The price of scripted answers."""


def configured_price(
    kind: str, prices: Mapping[str, Price], model: str
) -> Price | Literal["public"] | None:
    """Return the price that a provider's configuration gives a model.

    Args:
        kind: The API that the provider speaks.
        prices: The provider's own, which win over public ones.
        model: As the provider calls it.

    Returns:
        `public` where the public prices decide; None where the model has no price at all: scripted
        answers cost nothing, unless some of them have prices.
    """
    own = prices.get(model)
    if own is not None:
        return own
    if kind != "scripted":
        return "public"
    return None if prices else FREE
