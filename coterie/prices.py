"""What models cost: from a file of one's own, else from the public prices that come along.

A model that neither knows is not there: it is told as unpriced, never as free.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version

from pydantic import ValidationError

from coterie.arguments import read_text
from coterie.capabilities import BUILT_IN_PROVIDERS
from coterie.failures import CommandError
from coterie.settings import Settings
from dsl.analysis.loads import Price
from dsl.document import ProviderSection
from dsl.plan import Plan
from dsl.source import read

_MILLION = 1_000_000
PACKAGE = "genai-prices"
FREE = Price(input=0, output=0)
"""What answers from a file cost."""


@dataclass(frozen=True, slots=True)
class Priced:
    """The prices of a plan's models, and whose they are."""

    prices: Mapping[str, Price]
    """`{"provider/model": price}`."""
    sources: Mapping[str, str]
    """`{"provider/model": where its price comes from}`."""


def prices(
    plan: Plan,
    providers: Mapping[str, ProviderSection],
    own: Mapping[str, Price],
    own_file: str,
    input_tokens: int,
) -> Priced:
    """The price of each model that a plan asks.

    Args:
        plan: the plan.
        providers: how the document reaches them.
        own: prices that were given; they win.
        own_file: where from.
        input_tokens: the length of a prompt, for models that cost more when it is long.
    """
    found: dict[str, Price] = {}
    sources: dict[str, str] = {}
    for persona in plan.personas.values():
        name = f"{persona.provider}/{persona.model}"
        section = providers.get(persona.provider) or BUILT_IN_PROVIDERS.get(persona.provider)
        if persona.execution_plan is not None or name in found:
            continue
        if name in own:
            found[name], sources[name] = own[name], own_file
        elif (section.kind if section else None) == "scripted" or persona.provider == "scripted":
            found[name], sources[name] = FREE, "answers from a file are free"
        else:
            public = _public(persona.provider, section, persona.model, input_tokens)
            if public is not None:
                found[name], sources[name] = public, f"{PACKAGE} {version(PACKAGE)}"
    return Priced(found, sources)


def _public(
    provider: str, section: ProviderSection | None, model: str, input_tokens: int
) -> Price | None:
    """The public price; the library is loaded for the first model that needs it."""
    from genai_prices import Usage, calc_price

    usage = Usage(input_tokens=max(input_tokens, 1), output_tokens=_MILLION)
    try:
        if section is not None and section.api_base is not None:
            found = calc_price(usage, model, provider_api_url=section.api_base)
        else:
            kind = section.kind if section is not None and section.kind else provider
            found = calc_price(usage, model, provider_id=kind)
    except LookupError:
        return None
    known = found.model_price
    if known.input_mtok is None or known.output_mtok is None:
        return None
    into = float(found.input_price) / max(input_tokens, 1) * _MILLION
    return Price(input=into, output=float(found.output_price))


def read_prices(settings: Settings, name: str) -> dict[str, Price]:
    """Prices from a YAML file: `anthropic/claude-sonnet-5-5: {input: 3, output: 15}`.

    Raises:
        CommandError: an entry is no price.
        InvalidDocument: the file is not YAML of ours.
    """
    tree = read(read_text(settings.cwd / name, name), name)
    found: dict[str, Price] = {}
    for model, node in tree.entries().items():
        try:
            found[model] = Price.model_validate(node.plain(), strict=True)
        except ValidationError:
            raise CommandError(
                f"{name}:{node.at.line}:{node.at.column}: the price of {model!r} does not read "
                "{input: 3.0, output: 15.0}, US dollars for a million tokens"
            ) from None
    return found
