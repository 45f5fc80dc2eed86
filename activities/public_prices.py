"""The public prices and context windows of models, bundled with a library that loads when used.

Validation asks for them too, so this loads no Temporal.
"""

from typing import NamedTuple

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
            price = calc_price(usage, model, provider_api_url=api_base)
        else:
            price = calc_price(usage, model, provider_id=kind)
    except LookupError:
        return None
    rates = price.model_price
    if rates.input_mtok is None or rates.output_mtok is None:
        return None
    return PublicCost(float(price.input_price), float(price.output_price))


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
        _, model_info = get_snapshot().find_provider_model(model, None, vendor, api_base)
    except LookupError:
        return None
    return model_info.context_window
