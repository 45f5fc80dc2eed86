"""The meter of one call: tokens, money and time, over all its attempts.

It stands between an agent and its providers, so that what an agent does not report is counted
too. Temporal keeps the details of the last heartbeat for the next attempt: an attempt that
failed after it used tokens is not forgotten.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Self

from pydantic import ValidationError
from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.agents.agent_base import ProviderAccess
from activities.attempts import check_attempt
from activities.call_prices import Pricing
from activities.contracts import WORKER_STOPPED, AgentResponse, Spent, TokenUsage
from activities.providers.provider import Completion, ModelProvider, ModelRequest
from activities.providers.provider_failures import ProviderFailure
from dsl.values import Json

_DIGITS = 2
"""Of seconds: a hundredth tells all about calls of seconds, and a fast call needs no byte."""


class Meter:
    """What the call has used so far."""

    def __init__(
        self,
        pricing: Pricing | None = None,
        earlier: Spent | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        earlier = earlier or Spent()
        self._pricing = pricing
        self._usage = earlier.usage
        self._cost = earlier.cost
        self._unpriced = earlier.unpriced
        self._earlier = earlier.seconds
        self._clock = clock
        self._began = clock()

    @classmethod
    def of_activity(cls, pricing: Pricing | None = None) -> Self:
        """The meter of the activity in progress, with what its earlier attempts used."""
        return cls(pricing, _handed_on())

    @property
    def seconds(self) -> float:
        """In which the attempts worked."""
        return round(self._earlier + self._clock() - self._began, _DIGITS)

    @property
    def spent(self) -> Spent:
        """All of it."""
        return Spent(
            usage=self._usage, cost=self._cost, unpriced=self._unpriced, seconds=self.seconds
        )

    def told(self) -> tuple[Json, ...]:
        """The same as details of a heartbeat or a failure; none while there is nothing to tell."""
        details = self.spent.model_dump(mode="json", exclude_defaults=True)
        return (details,) if details else ()

    def hand_on(self) -> tuple[Json, ...]:
        """Leave what was used to the next attempt, if there will be one; the same as `told`.

        The latest beat is not lost when the attempt fails right after it: the SDK sees to that.
        """
        details = self.told()
        if details and activity.in_activity():
            activity.heartbeat(*details)
        return details

    def cut_off(self) -> ApplicationError | None:
        """Of a call that ends with its worker: what the engine says of it, with what it used.

        None when it was cancelled by someone else.
        """
        details = activity.cancellation_details() if activity.in_activity() else None
        if details is None or not details.worker_shutdown or details.cancel_requested:
            return None
        return ApplicationError(
            "the worker was stopped in the middle of it", *self.hand_on(), type=WORKER_STOPPED
        )

    async def take(
        self, provider: str, model: str, usage: TokenUsage, seconds: float | None = None
    ) -> None:
        """Count one call of a model."""
        self._usage = usage if self._usage is None else self._usage + usage
        self._earlier += seconds or 0.0
        cost = await self._priced(provider, model, usage)
        if cost is None:
            self._unpriced = True
        else:
            self._cost = cost if self._cost is None else self._cost + cost

    async def _priced(self, provider: str, model: str, usage: TokenUsage) -> float | None:
        pricing = self._pricing
        if pricing is None:
            return None
        if pricing.free(provider):
            return 0.0
        if not usage.input_tokens and not usage.output_tokens:
            return None  # a server that does not count: nobody knows
        own = pricing.own(provider, model, usage)
        if own is not None:
            return own
        if pricing.ready:
            return pricing.public(provider, model, usage)
        return await asyncio.to_thread(pricing.public, provider, model, usage)

    def billed(self, response: AgentResponse) -> AgentResponse:
        """The response with what all attempts used; an agent's own count where we have none."""
        seconds = self.seconds
        if self._usage is None:
            return response.model_copy(update={"seconds": seconds}) if seconds else response
        return response.model_copy(
            update={
                "usage": self._usage,
                "cost": self._cost,
                # without any cost it is plain that the call has no price
                "unpriced": self._unpriced and self._cost is not None,
                "seconds": seconds,
            }
        )


def _handed_on() -> Spent | None:
    """What earlier attempts of this activity used, as their last heartbeat said."""
    if not activity.in_activity():
        return None
    details = activity.info().heartbeat_details
    if not details:
        return None
    try:
        return Spent.model_validate(details[0])
    except ValidationError:
        return None  # of another version of this worker


class MeteredProviders:
    """Providers whose every call the meter sees."""

    def __init__(self, providers: ProviderAccess, meter: Meter) -> None:
        self._providers = providers
        self._meter = meter

    def get(self, name: str) -> ModelProvider:
        """The provider of that name.

        Raises:
            ProviderFailure: there is none, or its key is missing.
        """
        return _MeteredProvider(name, self._providers.get(name), self._meter)


class _MeteredProvider:
    def __init__(self, name: str, provider: ModelProvider, meter: Meter) -> None:
        self._name = name
        self._provider = provider
        self._meter = meter

    async def complete(self, request: ModelRequest) -> Completion:
        await check_attempt()
        try:
            completion = await self._provider.complete(request)
        except ProviderFailure as failure:
            if failure.usage is not None:
                await self._meter.take(self._name, request.model, failure.usage)
            raise
        await self._meter.take(self._name, request.model, completion.usage, completion.seconds)
        return completion

    async def close(self) -> None:
        """The worker closes what it opened."""
