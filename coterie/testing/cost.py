"""What the model calls of a case would have cost, by the public prices of their models."""

from collections.abc import Sequence
from dataclasses import dataclass

from activities.contracts import TokenUsage
from coterie.compiling import CompiledDocument
from coterie.prices import prices

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Asked:
    """One model call that was answered."""

    model: str
    """`provider/model`."""
    usage: TokenUsage


@dataclass(frozen=True, slots=True)
class Cost:
    """The price of a case."""

    dollars: float
    unpriced: tuple[str, ...]
    """Models that were asked and have no public price; they are not in the sum."""


def cost_of(asked: Sequence[Asked], team: CompiledDocument) -> Cost:
    """The sum over the calls, each at the price of its model for prompts of its length."""
    dollars = 0.0
    unpriced: dict[str, None] = {}
    for call in asked:
        usage = call.usage
        compiled = team.compiled
        found = prices(compiled.plan, compiled.providers, {}, "", usage.input_tokens).prices
        price = found.get(call.model)
        if price is None:
            unpriced[call.model] = None
            continue
        dollars += (
            usage.input_tokens * price.input + usage.output_tokens * price.output
        ) / _MILLION
    return Cost(dollars, tuple(unpriced))
