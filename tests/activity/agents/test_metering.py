"""What a turn used is counted where it is used, and priced where prices are known."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest
from temporalio.activity import ActivityCancellationDetails
from temporalio.exceptions import ApplicationError

from coterie.activities.agent_activity import AgentActivities
from coterie.activities.agents.agent_base import BaseAgent
from coterie.activities.contracts import (
    AgentResponse,
    FailureType,
    OpenModelCall,
    Spent,
    TokenUsage,
)
from coterie.activities.metering import Meter
from coterie.activities.model_prices import Pricing
from coterie.activities.providers.message_model import ModelMessage
from coterie.activities.providers.provider import Completion, ModelRequest, ProviderSettings
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.dsl.model.price import Price
from coterie.dsl.values import Json
from tests.support.agents import USAGE, RecordingModel, answer, environment, persona, request, turn

OWN = {"model-1": Price(input=1000, output=2000, cached=0)}


def pricing(kind: str = "openai", prices: dict[str, Price] | None = None) -> Pricing:
    settings = ProviderSettings(name="recorded", kind=kind, prices=prices or {})
    return Pricing({"recorded": settings})


def request_of(prompt: str, model: str = "model-1") -> ModelRequest:
    return ModelRequest(model=model, messages=(ModelMessage.of("user", prompt),))


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


@pytest.mark.parametrize("prices", [OWN, {}])
async def test_what_a_server_does_not_count_is_estimated(prices: dict[str, Price]) -> None:
    """Else no budget of tokens would ever hold with it."""
    silent = answer(usage=TokenUsage())
    response = await turn(
        AgentActivities(RecordingModel(silent), pricing=pricing(prices=prices)), request()
    )
    assert response.usage == TokenUsage(1, 1)
    assert (response.cost, response.estimated) == (0.003 if prices else None, 1)


async def test_what_a_failed_call_does_not_count_is_estimated() -> None:
    cut = ProviderFailure("ProviderUnavailable", "cut", retryable=True, usage=TokenUsage())
    activities = AgentActivities(RecordingModel(cut), pricing=pricing(prices=OWN))
    with pytest.raises(ApplicationError) as failed:
        await turn(activities, request())
    shown = Spent.model_validate(failed.value.details[0])
    assert (shown.usage, shown.cost, shown.estimated) == (TokenUsage(1, 0), 0.001, 1)


async def test_a_cache_of_an_hour_costs_twice_the_input() -> None:
    written = TokenUsage(10, 0, cache_write_tokens=10, hour_cache_write_tokens=4)
    costs: list[float | None] = []
    for price in (Price(input=1e6, output=0), Price(input=1e6, output=0, cache_write_1h=3e6)):
        prices = pricing(prices={"model-1": price})
        model = RecordingModel(answer(usage=written))
        costs.append((await turn(AgentActivities(model, pricing=prices), request())).cost)
    assert costs == [pytest.approx(14), pytest.approx(18)]
    who = request(who=persona(model="claude-sonnet-4-5"))
    plain = RecordingModel(answer(usage=TokenUsage(1000, 0, cache_write_tokens=1000)))
    hour = RecordingModel(answer(usage=TokenUsage(1000, 0, 0, 1000, 1000)))
    public = pricing("anthropic")
    spent = [(await turn(AgentActivities(one, pricing=public), who)).cost for one in (plain, hour)]
    assert spent == [pytest.approx(0.00375), pytest.approx(0.006)]


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
            await provider.complete(request_of("Go.", model))
        return AgentResponse(success=True, data="done")


class Broken(Twice):
    """Asks two times, and breaks."""

    async def process(self, context: Json) -> AgentResponse:
        await super().process(context)
        raise LookupError("broken")


async def test_what_an_agent_used_that_breaks_reaches_the_next_attempt() -> None:
    made, beats = environment(), list[Json]()
    made.on_heartbeat = lambda *details: beats.extend(details)
    models = RecordingModel(answer(), answer())
    activities = AgentActivities(models, agent_types={"broken": Broken})
    with pytest.raises(LookupError):
        await made.run(activities.run_agent, request(changes={"agent_type": "broken"}))
    assert Spent.model_validate(beats[-1]).usage == USAGE + USAGE


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
    spent = made.run(lambda: Meter.of_activity().spent)
    assert spent.model_copy(update={"seconds": 0.0}) == used


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize(
    ("ends", "stays_open"),
    [(None, False), (ValueError, False), (asyncio.CancelledError, True)],
)
async def test_a_call_that_ends_is_reported_no_more(
    ends: type[BaseException] | None,
    stays_open: bool,
    begun: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("coterie.activities.metering._REPORTED_AFTER", 0.0)
    meter = Meter(pricing(prices=OWN))
    tasks = asyncio.all_tasks()
    with suppress(ValueError, asyncio.CancelledError), meter.in_progress("recorded", "m", 1):
        assert meter.spent.open == (OpenModelCall(input_tokens=1),)
        for _ in range(2 if begun else 0):  # the timer, and the report that it starts
            await asyncio.sleep(0)
        assert (asyncio.all_tasks() != tasks) is begun
        if ends is not None:
            raise ends
    for _ in range(3):
        await asyncio.sleep(0)
    assert asyncio.all_tasks() == tasks
    assert bool(meter.spent.open) is stays_open


async def test_call_without_usage_reports_none() -> None:
    meter = Meter(clock=lambda: 1.0)
    assert meter.details() == ()
    assert meter.billed(AgentResponse()) == AgentResponse()


async def test_notices_stand_at_the_end_of_the_prompt() -> None:
    model = RecordingModel(answer())
    await turn(AgentActivities(model), request(changes={"notices": ("[Note: A.]", "[Note: B.]")}))
    assert model.requests[0].messages[0].text == "Go.\n\n[Note: A.]\n\n[Note: B.]"


class Hanging:
    """A model that never answers."""

    def get(self, name: str) -> "Hanging":
        return self

    async def complete(self, request: ModelRequest) -> Completion:
        await asyncio.Event().wait()
        raise AssertionError

    async def close(self) -> None:
        """Do nothing."""


async def hung(*, stopped: bool = False) -> tuple[Json, ApplicationError | None]:
    """Begin a turn whose worker is lost, or stops: the last heartbeat, and its failure."""
    made, beats, reported = environment(), list[Json](), asyncio.Event()
    made.info = replace(made.info, heartbeat_timeout=timedelta(seconds=60))

    def beat(*details: Json) -> None:
        beats.extend(details)
        if details and any(one.cost for one in Spent.model_validate(details[0]).open):
            reported.set()

    made.on_heartbeat = beat
    activities = AgentActivities(Hanging(), pricing=pricing(prices=OWN))
    working = asyncio.create_task(made.run(activities.run_agent, request()))
    await reported.wait()
    if stopped:
        made.cancel(cancellation_details=ActivityCancellationDetails(worker_shutdown=True))
    else:
        working.cancel()
    [error] = await asyncio.gather(working, return_exceptions=True)
    return beats[-1], error if isinstance(error, ApplicationError) else None


SENT = (OpenModelCall(input_tokens=1, cost=0.001),)
"""The turn sends "Go.", so one token."""


async def test_a_heartbeat_names_the_model_call_in_progress_and_what_its_input_costs() -> None:
    beat, _ = await hung()
    assert Spent.model_validate(beat).open == SENT


async def test_a_call_whose_worker_stops_names_the_model_call_that_it_leaves() -> None:
    _, error = await hung(stopped=True)
    assert error is not None
    assert Spent.model_validate(error.details[0]).open == SENT


async def test_the_next_attempt_pays_for_the_model_call_that_was_lost_with_its_worker() -> None:
    made = environment()
    beat, _ = await hung()
    made.info = replace(made.info, heartbeat_details=[beat], attempt=2)
    activities = AgentActivities(RecordingModel(answer()), pricing=pricing(prices=OWN))
    response = await made.run(activities.run_agent, request())
    assert response.usage == USAGE + TokenUsage(input_tokens=1)
    assert (response.cost, response.cut_off) == (pytest.approx(0.17 + 0.001), 1)
    assert not response.unpriced


def test_a_lost_call_without_a_price_makes_the_cost_incomplete() -> None:
    spent = Spent(usage=TokenUsage(1, 2), cost=0.5, open=(OpenModelCall(input_tokens=3),))
    assert spent.closed() == Spent(usage=TokenUsage(4, 2), cost=0.5, unpriced=True, cut_off=1)
