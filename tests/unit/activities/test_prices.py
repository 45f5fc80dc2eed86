"""What is known of a model's price before a run is what the run goes by."""

from activities.call_prices import Pricing
from activities.contracts import TokenUsage
from activities.providers.provider import ProviderSettings
from coterie.documents.price_lists import has_price, prices
from dsl.model.price import Price
from dsl.model.sections.provider_document import ProviderSection
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
    usage = TokenUsage(input_tokens=10, output_tokens=1)
    before = prices(plan_of(TEAM), sections, {}, "", 10)
    assert not before.prices
    assert not has_price(sections, "scripted", "other")
    in_it = Pricing(reached)
    assert not in_it.free("scripted")
    assert in_it.own("scripted", "other", usage) is None
    assert in_it.public("scripted", "other", usage) is None


def test_answers_from_a_file_without_prices_are_free() -> None:
    sections = {"scripted": ProviderSection(kind="scripted", answers="a.yml")}
    found = prices(plan_of(TEAM), sections, {}, "", 10)
    assert found.prices["scripted/other"] == Price(input=0, output=0)
