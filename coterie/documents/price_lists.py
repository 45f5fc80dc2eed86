"""Find the prices of models: the user's own, else the bundled public ones.

A model that neither knows is unpriced, which is not the same as free.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Literal

from pydantic import ValidationError

from coterie.activities.public_prices import public_cost
from coterie.argument_values import read_text
from coterie.documents.product_capabilities import BUILT_IN_PROVIDERS
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.price import MILLION as _MILLION
from coterie.dsl.model.price import Price, configured_price
from coterie.dsl.model.sections.provider_document import ProviderSection, provider_kind
from coterie.dsl.model_names import split_model
from coterie.dsl.source.yaml_reader import read
from coterie.failures import CommandError
from coterie.settings import Settings

PACKAGE = "genai-prices"


@dataclass(frozen=True, slots=True)
class Priced:
    """The prices of a plan's models, and their sources."""

    prices: Mapping[str, Price]
    """`{"provider/model": price}`."""
    sources: Mapping[str, str]
    """`{"provider/model": source of its price}`."""


def prices(
    plan: Plan,
    providers: Mapping[str, ProviderSection],
    own: Mapping[str, Price],
    own_file: str,
    input_tokens: int,
) -> Priced:
    """Return the price of each model that a plan calls.

    Args:
        plan: The plan.
        providers: Providers of the document.
        own: The user's prices, which take precedence.
        own_file: File of the user's prices.
        input_tokens: Length of a prompt, for models with higher rates for long prompts.
    """
    price_by_name: dict[str, Price] = {}
    sources: dict[str, str] = {}
    for provider, model in _models_called(plan):
        name = f"{provider}/{model}"
        section = providers.get(provider) or BUILT_IN_PROVIDERS.get(provider)
        if name in price_by_name:
            continue
        if name in own:
            price_by_name[name], sources[name] = own[name], own_file
            continue
        price = _configured_price(provider, section, model)
        if isinstance(price, Price):
            is_configured = section is not None and model in section.prices
            price_by_name[name] = price
            sources[name] = (
                f"llm_config.providers.{provider}.prices"
                if is_configured
                else "answers from a file are free"
            )
        elif price == "public":
            public = _public(provider, section, model, input_tokens)
            if public is not None:
                price_by_name[name], sources[name] = public, f"{PACKAGE} {version(PACKAGE)}"
    return Priced(price_by_name, sources)


def known_price(
    providers: Mapping[str, ProviderSection], provider: str, model: str
) -> Price | None:
    """Return the price of a model, for budgets of money; None if it has none."""
    section = providers.get(provider) or BUILT_IN_PROVIDERS.get(provider)
    price = _configured_price(provider, section, model)
    if price == "public":
        return _public(provider, section, model)
    return price


def _configured_price(
    provider: str, section: ProviderSection | None, model: str
) -> Price | Literal["public"] | None:
    prices = {} if section is None else section.prices
    return configured_price(provider_kind(provider, section), prices, model)


def _public(
    provider: str, section: ProviderSection | None, model: str, input_tokens: int = 1
) -> Price | None:
    kind = provider_kind(provider, section)
    api_base = section.api_base if section is not None else None
    cost = public_cost(kind, api_base, model, max(input_tokens, 1), _MILLION)
    if cost is None:
        return None
    return Price(input=cost.input / max(input_tokens, 1) * _MILLION, output=cost.output)


def read_prices(settings: Settings, name: str) -> dict[str, Price]:
    """Read prices from a YAML file: `anthropic/claude-sonnet-5-5: {input: 3, output: 15}`.

    Raises:
        CommandError: An entry is not a price.
        InvalidDocument: The file is not valid YAML.
    """
    tree = read(read_text(settings.cwd / name, name), name)
    price_by_model: dict[str, Price] = {}
    for model, node in tree.entries().items():
        try:
            price_by_model[model] = Price.model_validate(node.plain(), strict=True)
        except ValidationError:
            raise CommandError(
                f"{name}:{node.at.line}:{node.at.column}: the price of {model!r} must read like "
                "{input: 3.0, output: 15.0}, in US dollars per million tokens"
            ) from None
    return price_by_model


def _models_called(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield provider and model of every call that the agents of a plan can make."""
    for persona in plan.personas.values():
        yield from map(split_model, persona.models)
