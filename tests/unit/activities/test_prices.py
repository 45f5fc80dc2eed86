"""What is known of a model's price before a run is what the run goes by."""

from importlib.metadata import version
from pathlib import Path
from typing import Literal

import pytest

from coterie.activities.model_prices import Pricing
from coterie.activities.providers.provider import ProviderSettings
from coterie.activities.public_prices import context_window, public_cost
from coterie.documents.price_lists import known_price, prices, read_prices
from coterie.dsl.model.price import FREE, Price, configured_price
from coterie.dsl.model.sections.provider_document import ProviderSection, provider_kind
from coterie.failures import CommandError
from coterie.settings import load
from tests.support.compiling import plan_of

OWN = {"known": Price(input=1, output=2)}
TEAM = """
llm_config:
  providers: {scripted: {answers: a.yml}}
  personas: {p: {provider: scripted, model: other, prompts: {user: hello}}}
orchestration:
  entry_team: t
  teams: {t: {tasks: [{name: a, agent_type: generic_single_shot, persona_key: p}]}}
"""


def test_a_model_that_own_prices_leave_out_is_unpriced_before_a_run_and_in_it() -> None:
    sections = {"scripted": ProviderSection(kind="scripted", answers="a.yml", prices=OWN)}
    reached = {"scripted": ProviderSettings(name="scripted", kind="scripted", prices=OWN)}
    before = prices(plan_of(TEAM), sections, {}, "", 10)
    assert not before.prices
    assert not known_price(sections, "scripted", "other")
    in_it = Pricing(reached)
    assert in_it.configured("scripted", "other") is None


def test_answers_from_a_file_without_prices_are_free() -> None:
    sections = {"scripted": ProviderSection(kind="scripted", answers="a.yml")}
    found = prices(plan_of(TEAM), sections, {}, "", 10)
    assert found.prices["scripted/other"] == Price(input=0, output=0)


@pytest.mark.parametrize(
    ("kind", "own", "model", "price"),
    [
        ("anthropic", OWN, "known", OWN["known"]),
        ("anthropic", OWN, "other", "public"),
        ("anthropic", {}, "other", "public"),
        ("scripted", OWN, "known", OWN["known"]),
        ("scripted", OWN, "other", None),
        ("scripted", {}, "other", FREE),
    ],
)
def test_own_prices_win_then_public_ones_and_scripted_answers_are_free_without_any(
    kind: str, own: dict[str, Price], model: str, price: Price | Literal["public"] | None
) -> None:
    assert configured_price(kind, own, model) == price


@pytest.mark.parametrize(
    ("name", "section", "kind"),
    [
        ("anthropic", None, "anthropic"),
        ("anthropic@eu", ProviderSection(), "anthropic"),
        ("scripted", ProviderSection(kind="openai"), "openai"),
    ],
)
def test_a_provider_speaks_the_api_of_its_kind_else_of_its_name(
    name: str, section: ProviderSection | None, kind: str
) -> None:
    assert provider_kind(name, section) == kind


def test_a_provider_with_a_place_in_its_name_has_the_public_prices_of_its_kind() -> None:
    assert known_price({"anthropic@eu": ProviderSection()}, "anthropic@eu", "claude-sonnet-4-5")
    assert not known_price(
        {"scripted": ProviderSection(kind="openai")}, "scripted", "no-such-model"
    )


SEVERAL = """
llm_config:
  providers:
    scripted: {answers: a.yml, prices: {paid: {input: 1, output: 2}}}
    free: {kind: scripted, answers: a.yml}
  personas:
    own: {provider: anthropic, model: mine, prompts: {user: hello}}
    written: {provider: scripted, model: paid, prompts: {user: hello}}
    public:
      provider: free
      model: any
      fallback: [anthropic/claude-sonnet-4-5, anthropic/no-such-model, openai/gpt-5]
      prompts: {user: hello}
    long:
      provider: anthropic
      model: claude-sonnet-4-5
      compaction: {at: 10000, model: openai/gpt-5-mini}
      prompts: {user: hello}
orchestration:
  entry_team: t
  teams:
    t:
      tasks:
        - {name: a, agent_type: generic_single_shot, persona_key: own}
        - {name: b, agent_type: generic_single_shot, persona_key: written}
        - {name: c, agent_type: generic_single_shot, persona_key: public}
        - {name: d, agent_type: generic_single_shot, persona_key: long}
"""
SECTIONS = {
    "scripted": ProviderSection(
        answers="a.yml",
        prices={"paid": Price(input=1, output=2), "other": Price(input=9, output=9)},
    ),
    "free": ProviderSection(kind="scripted", answers="a.yml"),
}


def test_the_price_of_each_model_that_a_plan_calls_has_a_source() -> None:
    own = {"anthropic/mine": Price(input=3, output=4), "free/any": Price(input=5, output=6)}
    found = prices(plan_of(SEVERAL), SECTIONS, own, "prices.yml", 1000)
    bundled = f"genai-prices {version('genai-prices')}"
    assert {name: (price, found.sources[name]) for name, price in found.prices.items()} == {
        "anthropic/mine": (Price(input=3, output=4), "prices.yml"),
        "scripted/paid": (Price(input=1, output=2), "llm_config.providers.scripted.prices"),
        "free/any": (Price(input=5, output=6), "prices.yml"),
        "anthropic/claude-sonnet-4-5": (Price(input=3, output=15), bundled),
        "openai/gpt-5": (Price(input=1.25, output=10), bundled),
        "openai/gpt-5-mini": (Price(input=0.25, output=2), bundled),
    }
    free = prices(plan_of(SEVERAL), SECTIONS, {}, "prices.yml", 1000)
    assert free.sources["free/any"] == "answers from a file are free"
    assert "anthropic/mine" not in free.prices


@pytest.mark.parametrize(
    ("tokens", "price"),
    [
        (0, Price(input=3, output=15)),
        (1, Price(input=3, output=15)),
        (300_000, Price(input=6, output=22.5)),
    ],
)
def test_a_public_price_is_that_of_a_prompt_of_the_length(tokens: int, price: Price) -> None:
    found = prices(plan_of(SEVERAL), SECTIONS, {}, "", tokens)
    assert found.prices["anthropic/claude-sonnet-4-5"] == price
    assert known_price({}, "anthropic", "claude-sonnet-4-5") == Price(input=3, output=15)


def test_a_vendor_at_another_address_has_no_public_price_for_a_budget() -> None:
    elsewhere = {"anthropic": ProviderSection(api_base="https://models.example.com")}
    assert known_price(elsewhere, "anthropic", "claude-sonnet-4-5") is None


def test_a_budget_goes_by_the_own_price_of_a_model() -> None:
    assert known_price(SECTIONS, "scripted", "paid") == Price(input=1, output=2)


def test_a_public_price_counts_what_a_cache_gave_or_took() -> None:
    model = ("anthropic", None, "claude-sonnet-4-5")
    assert public_cost(*model, 1000, 100) == (pytest.approx(0.003), pytest.approx(0.0015))
    assert public_cost(*model, 1000, 0, cached_tokens=1000) == (pytest.approx(0.0003), 0)
    assert public_cost(*model, 1000, 0, cache_write_tokens=1000) == (pytest.approx(0.00375), 0)


def test_a_model_with_half_a_public_price_has_none() -> None:
    assert public_cost("openai", None, "text-embedding-3-small", 1000, 0) is None


def test_the_address_of_a_provider_decides_whose_context_window_a_model_has() -> None:
    assert context_window("openai", None, "gpt-5") == 400_000
    assert context_window("anthropic", "https://api.openai.com/v1", "gpt-5") == 400_000
    assert context_window("anthropic", None, "gpt-5") is None
    assert context_window("openai", "https://models.example.com", "gpt-5") is None


def test_own_prices_are_read_and_a_wrong_one_is_reported_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "prices.yml"
    file.write_text("a/b: {input: 3, output: 15.5}\nc/d: {input: 0, output: 0, cached: 1}\n")
    assert read_prices(load(cwd=tmp_path), "prices.yml") == {
        "a/b": Price(input=3, output=15.5),
        "c/d": Price(input=0, output=0, cached=1),
    }
    for wrong in ('{input: "3", output: 15}', "{input: 3}", "7", "{input: -1, output: 1}"):
        file.write_text(f"a/b: {{input: 3, output: 15}}\nc/d: {wrong}\n")
        with pytest.raises(CommandError) as raised:
            read_prices(load(cwd=tmp_path), "prices.yml")
        assert str(raised.value).startswith("prices.yml:2:1: the price of 'c/d' must read like")
