"""A request that exceeds the context window of its model is refused before it is sent."""

import pytest
from temporalio.exceptions import ApplicationError

from coterie.activities.agent_activity import AgentActivities
from coterie.activities.contracts import AgentRequest, TokenUsage
from coterie.activities.model_prices import Pricing
from coterie.activities.providers.provider import ProviderSettings
from coterie.activities.storage.blobs import MemoryBlobs
from coterie.dsl.model.plan import Persona
from tests.support.simulation.stored_turns import ACTOR, Agents, Model, says, wants

PROMPT = "word " * 8_000
"""10,000 tokens by the estimate."""


def request(persona: Persona, prompt: str = PROMPT) -> AgentRequest:
    return AgentRequest(team="t", task="ask", persona=persona, inputs={"input": prompt})


def asker(provider: str = "local", model: str = "m", **more: object) -> Persona:
    given = {"provider": provider, "model": model, "max_tokens": 1_000, **more}
    return Persona.model_validate({"prompts": {"user": "{{ input }}"}, **given})


def worker(model: Model, window: int | None = None, kind: str = "openai") -> AgentActivities:
    settings = ProviderSettings("local", kind, context_window=window)
    vendor = ProviderSettings("anthropic", "anthropic")
    pricing = Pricing({"local": settings, "anthropic": vendor})
    return AgentActivities(model, blobs=MemoryBlobs(), pricing=pricing)


async def test_the_window_of_the_persona_decides_before_that_of_the_provider() -> None:
    model = Model(says("Yes."))
    with pytest.raises(ApplicationError) as refused:
        await worker(model, 900_000).run_agent(request(asker(context_window=10_999)))
    assert refused.value.type == "ContextWindowExceeded"
    assert refused.value.non_retryable
    assert refused.value.message == (
        "the request for 'm' has about 10,000 tokens, and its answer may have 1,000 (max_tokens), "
        "but the context window has 10,999; send less, lower max_tokens, lower `max_result` of "
        "the tools, or set `compaction` in the persona for long conversations"
    )
    assert model.asked == []


@pytest.mark.parametrize(("window", "fits"), [(10_999, False), (11_000, True), (None, True)])
async def test_the_window_of_the_provider_holds(window: int | None, fits: bool) -> None:
    model = Model(says("Yes."))
    if not fits:
        with pytest.raises(ApplicationError, match="10,999"):
            await worker(model, window).run_agent(request(asker()))
    else:
        assert (await worker(model, window).run_agent(request(asker()))).success
    assert bool(model.asked) is fits


async def test_a_small_window_of_a_local_model_refuses_a_small_request_too() -> None:
    model = Model(says("Yes."))
    with pytest.raises(ApplicationError, match="the context window has 2,048"):
        await worker(model, 2_048).run_agent(request(asker(), "word " * 1_600))
    assert model.asked == []


@pytest.mark.parametrize(("words", "fits"), [(3_200, True), (3_201, False)])
async def test_public_figures_are_looked_up_above_four_thousand_tokens(
    words: int, fits: bool
) -> None:
    model = Model(says("Yes."))
    persona = asker("anthropic", "claude-sonnet-4-0", max_tokens=9_999_999)
    if fits:
        assert (await worker(model).run_agent(request(persona, "word " * words))).success
    else:
        with pytest.raises(ApplicationError, match="the context window has"):
            await worker(model).run_agent(request(persona, "word " * words))


async def test_the_public_figure_of_a_model_holds_where_nobody_states_one() -> None:
    persona = asker("anthropic", "claude-sonnet-4-0", max_tokens=195_000)
    with pytest.raises(ApplicationError, match="the context window has 200,000"):
        await worker(Model()).run_agent(request(persona))


async def test_a_model_that_nobody_knows_takes_what_it_takes() -> None:
    model = Model(says("Yes."))
    assert (await worker(model, kind="scripted").run_agent(request(asker()))).success


async def test_what_the_provider_counted_decides_in_a_conversation() -> None:
    """Its tokens are longer or shorter than four bytes: only it knows."""
    agents = Agents(Model(wants("a"), says("Done."), usage=TokenUsage(6_000, 100)))
    persona = ACTOR.model_copy(update={"context_window": 7_100, "max_tokens": 1_000})
    await agents.first(persona=persona)
    with pytest.raises(ApplicationError, match="has about 6,101 tokens"):
        await agents.later("one")
    await agents.later("")
    assert [one.input_tokens for one in agents.model.asked] == [None, 6_100]
