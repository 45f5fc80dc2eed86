"""What a turn used is counted where it is used, priced where prices are known, never guessed."""

from dataclasses import replace

import pytest
from temporalio.exceptions import ApplicationError

from activities.agent_activity import AgentActivities
from activities.agents.agent_base import BaseAgent
from activities.call_prices import Pricing
from activities.contracts import AgentResponse, FailureType, Spent, TokenUsage
from activities.metering import Meter
from activities.providers.message_model import ModelMessage
from activities.providers.provider import ModelRequest, ProviderSettings
from activities.providers.provider_failures import ProviderFailure
from dsl.model.price import Price
from dsl.values import Json
from tests.support.agents import USAGE, RecordingModel, answer, environment, persona, request, turn

OWN = {"model-1": Price(input=1000, output=2000, cached=0)}


def pricing(kind: str = "openai", prices: dict[str, Price] | None = None) -> Pricing:
    settings = ProviderSettings(name="recorded", kind=kind, prices=prices or {})
    return Pricing({"recorded": settings})


@pytest.mark.parametrize(
    ("prices", "model", "cost"),
    [
        (pricing(prices=OWN), "model-1", 0.17),
        (pricing(), "model-1", None),
        (pricing("anthropic"), "claude-sonnet-4-5", 0.000783),
        (pricing("scripted"), "model-1", 0.0),
        (pricing("scripted", OWN), "model-1", 0.17),
        (pricing("scripted", OWN), "another", None),
    ],
    ids=["own", "unknown", "public", "free", "played with prices", "played without one"],
)
async def test_a_turn_costs_what_its_model_costs(
    prices: Pricing, model: str, cost: float | None
) -> None:
    activities = AgentActivities(RecordingModel(answer()), pricing=prices)
    response = await turn(activities, request(who=persona(model=model)))
    assert response.usage == USAGE
    assert response.cost == (None if cost is None else pytest.approx(cost))
    assert not response.unpriced


async def test_a_server_that_does_not_count_is_not_free() -> None:
    silent = answer(usage=TokenUsage())
    response = await turn(
        AgentActivities(RecordingModel(silent), pricing=pricing(prices=OWN)), request()
    )
    assert response.cost is None


async def test_a_failed_turn_tells_what_it_used() -> None:
    cut = ProviderFailure(
        FailureType.PROVIDER_UNAVAILABLE, "cut", retryable=True, usage=TokenUsage(100, 20)
    )
    activities = AgentActivities(RecordingModel(cut), pricing=pricing(prices=OWN))
    with pytest.raises(ApplicationError) as failed:
        await turn(activities, request())
    shown = Spent.model_validate(failed.value.details[0])
    assert (shown.usage, shown.cost) == (TokenUsage(100, 20), pytest.approx(0.14))


class Twice(BaseAgent):
    """Asks two times, and reports nothing."""

    async def process(self, context: Json) -> AgentResponse:
        assert self.services.providers is not None
        provider = self.services.providers.get("recorded")
        for model in ("model-1", "another"):
            await provider.complete(
                ModelRequest(model=model, messages=(ModelMessage.of("user", "Go."),))
            )
        return AgentResponse(success=True, data="done")


async def test_every_call_of_an_agent_of_one_s_own_is_counted() -> None:
    activities = AgentActivities(
        RecordingModel(answer(), answer()),
        agent_types={"twice": Twice},
        pricing=pricing(prices=OWN),
    )
    response = await turn(activities, request(changes={"agent_type": "twice"}))
    assert response.usage == USAGE + USAGE
    assert (response.cost, response.unpriced) == (pytest.approx(0.17), True)


async def test_a_meter_goes_on_from_what_earlier_attempts_used() -> None:
    now = [100.0]
    earlier = Spent(usage=TokenUsage(1, 2), cost=0.5, unpriced=True, seconds=7.0)
    meter = Meter(pricing(prices=OWN), earlier, lambda: now[0])
    now[0] = 103.0
    await meter.take("recorded", "model-1", TokenUsage(1000, 0), seconds=10.0)
    assert meter.spent == Spent(usage=TokenUsage(1001, 2), cost=1.5, unpriced=True, seconds=20.0)


@pytest.mark.parametrize(
    ("beat", "used"),
    [
        ({"usage": {"input_tokens": 5}, "cost": 0.5}, Spent(usage=TokenUsage(5), cost=0.5)),
        ({"usage": {"input_tokens": "many"}}, Spent()),
        ({"pages": 3}, Spent()),
        ("[1, 2]", Spent()),
    ],
)
def test_a_meter_ignores_a_heartbeat_of_another_worker_version(beat: object, used: Spent) -> None:
    made = environment()
    made.info = replace(made.info, heartbeat_details=[beat, {"seconds": 9}], attempt=2)
    assert made.run(lambda: Meter.of_activity().details()) == made.run(
        lambda: Meter(earlier=used).details()
    )


async def test_call_without_usage_reports_none() -> None:
    meter = Meter(clock=lambda: 1.0)
    assert meter.details() == ()
    assert meter.billed(AgentResponse()) == AgentResponse()


async def test_notices_stand_at_the_end_of_the_prompt() -> None:
    model = RecordingModel(answer())
    await turn(AgentActivities(model), request(changes={"notices": ("[Note: A.]", "[Note: B.]")}))
    assert model.requests[0].messages[0].text == "Go.\n\n[Note: A.]\n\n[Note: B.]"
