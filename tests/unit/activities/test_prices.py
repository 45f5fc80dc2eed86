"""What is known of a model's price before a run is what the run goes by."""

from typing import Literal

import pytest

from activities.call_prices import Pricing
from activities.providers.provider import ProviderSettings
from coterie.documents.price_lists import known_price, prices
from dsl.model.price import FREE, Price, configured_price
from dsl.model.sections.provider_document import ProviderSection, provider_kind
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
