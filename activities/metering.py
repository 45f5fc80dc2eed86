"""Meter one call: tokens, money and time, over all its attempts.

The meter sits between an agent and its providers, so it also counts what an agent does not report.
Temporal passes the details of the last heartbeat to the next attempt, so the usage of a failed
attempt is not lost. A heartbeat also names the model calls in progress: if the worker is lost, the
vendor bills them all the same, so the next attempt counts an estimate of their input.
"""

import asyncio
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Self

from pydantic import JsonValue
from temporalio import activity
from temporalio.exceptions import ApplicationError

from coterie.activities.attempts import earlier_details, handed_on, reported
from coterie.activities.contracts import (
    MAX_HEARTBEAT_DELAY,
    WORKER_STOPPED,
    AgentResponse,
    InnerCall,
    OpenModelCall,
    Spent,
    TokenUsage,
)
from coterie.activities.live_text import LiveText
from coterie.activities.model_prices import Pricing
from coterie.activities.providers.message_model import Content
from coterie.activities.providers.provider import ModelRequest
from coterie.activities.providers.translation.readable_reasoning import readable_reasoning
from coterie.activities.threads.run_threads import TURN_THREADS
from coterie.dsl.model.price import FREE, Price
from coterie.dsl.values import Json

_PROGRESS = "progress"
_REPORTED_AFTER = MAX_HEARTBEAT_DELAY.total_seconds()
"""Seconds after which an open model call is reported: most end before."""
_DIGITS = 2
"""Decimal places of seconds: enough for calls of seconds, and short in the history."""


class Meter:
    """The usage of a call so far."""

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
        self._cut_off = earlier.cut_off
        self._estimated = earlier.estimated
        self._inner_calls = {call.skill: call for call in earlier.inner_calls}
        self._in_progress: dict[object, OpenModelCall] = {}
        self._earlier = earlier.seconds
        self._clock = clock
        self._began = clock()
        self.live: LiveText | None = None
        """The text of the turn, sent together with the usage."""
        self._thoughts: list[Content] = []
        """The answers of this attempt whose thinking people may see."""
        self.progress: JsonValue = None
        """What the call reported last, in this attempt or an earlier one."""

    @classmethod
    def of_activity(cls, pricing: Pricing | None = None) -> Self:
        """Return the meter of the current activity, including the usage of earlier attempts."""
        details = earlier_details()
        meter = cls(pricing, handed_on(details))
        meter.progress = reported(details)
        return meter

    @property
    def seconds(self) -> float:
        """Working time of the attempts."""
        return round(self._earlier + self._clock() - self._began, _DIGITS)

    @property
    def spent(self) -> Spent:
        """The whole usage."""
        return Spent(
            usage=self._usage,
            cost=self._cost,
            unpriced=self._unpriced,
            seconds=self.seconds,
            cut_off=self._cut_off,
            estimated=self._estimated,
            open=tuple(self._in_progress.values()),
            inner_calls=tuple(self._inner_calls.values()),
        )

    def details(self) -> tuple[Json, ...]:
        """Return the usage as failure details; empty while there is none."""
        details = self._spent_details()
        return (details,) if details else ()

    def heartbeat(self) -> tuple[Json, ...]:
        """Return the heartbeat details: the usage, then the streamed answer or the progress."""
        if self.live is not None:
            return (self._spent_details(), self.live.details())
        if self.progress is not None:
            return (self._spent_details(), {_PROGRESS: self.progress})
        return self.details()

    def report(self, progress: JsonValue) -> None:
        """Keep how far the call is, for people and for the next attempt."""
        self.progress = progress
        if activity.in_activity():
            self.beat()

    def note_call(self, call: InnerCall) -> None:
        """Keep that the agent's own code calls a tool function, also if this attempt is lost."""
        earlier = self._inner_calls.get(call.skill)
        if earlier is None or not set(call.labels) <= set(earlier.labels):
            self._inner_calls[call.skill] = call
            if activity.in_activity():
                self.beat()

    @property
    def has_met_untrusted(self) -> bool:
        """Whether the agent's own code has met text of others, in any attempt."""
        return any("untrusted" in call.labels for call in self._inner_calls.values())

    def beat(self) -> None:
        """Send a heartbeat now; a local activity has none."""
        if activity.info().is_local:
            return
        activity.heartbeat(*self.heartbeat())

    def _spent_details(self) -> Json:
        if not (self._usage or self._in_progress or self._inner_calls or self._cut_off):
            seconds = self.seconds
            return {"seconds": seconds} if seconds else {}
        return self.spent.model_dump(mode="json", exclude_defaults=True)

    def hand_on(self) -> tuple[Json, ...]:
        """Pass the usage to the next attempt, if there is one; return it like `details`.

        A reader sees the text so far until the next attempt begins its own.

        The latest heartbeat survives a failure right after it: the SDK flushes it.
        """
        details = self.details()
        if len(self.heartbeat()) > 0 and activity.in_activity():
            self.beat()
        return details

    def cut_off(self) -> ApplicationError | None:
        """Return the failure of a call that the end of its worker interrupted, with its usage.

        None when the call was cancelled for another reason.
        """
        details = activity.cancellation_details() if activity.in_activity() else None
        if details is None or not details.worker_shutdown or details.cancel_requested:
            return None
        return ApplicationError(
            "the worker stopped during this call", *self.hand_on(), type=WORKER_STOPPED
        )

    @contextmanager
    def in_progress(self, provider: str, model: str, tokens: int) -> Generator[None]:
        """Report a model call while it runs, and after it if its answer did not arrive.

        `tokens` is its estimated input.
        """
        call = object()
        self._in_progress[call] = OpenModelCall(input_tokens=tokens)
        reports: list[asyncio.Task[None]] = []

        def report() -> None:
            opened = self._report_open(call, provider, model, tokens)
            reports.append(asyncio.create_task(opened))

        timer = asyncio.get_running_loop().call_later(_REPORTED_AFTER, report)
        try:
            yield
        except asyncio.CancelledError:
            raise  # the call stays open: it is paid, and nobody will know how much it used
        except BaseException:
            del self._in_progress[call]
            raise
        else:
            del self._in_progress[call]
        finally:
            timer.cancel()
            for task in reports:
                task.cancel()

    async def _report_open(self, call: object, provider: str, model: str, tokens: int) -> None:
        """Send a heartbeat with the open call and its price."""
        cost = await self._price_of_usage(provider, model, TokenUsage(input_tokens=tokens))
        self._in_progress[call] = OpenModelCall(input_tokens=tokens, cost=cost)
        if activity.in_activity():
            self.beat()

    async def take(
        self,
        provider: str,
        model: str,
        usage: TokenUsage,
        estimated: bool = False,
        seconds: float | None = None,
        *,
        batched: bool = False,
    ) -> None:
        """Record one model call; one of a batch has the discount of batches."""
        self._estimated += estimated
        self._usage = usage if self._usage is None else self._usage + usage
        self._earlier += seconds or 0.0
        cost = await self._price_of_usage(provider, model, usage)
        if cost is not None and batched and self._pricing is not None:
            cost *= self._pricing.batch_share(provider, model)
        if cost is None:
            self._unpriced = True
        else:
            self._cost = cost if self._cost is None else self._cost + cost

    async def _price_of_usage(self, provider: str, model: str, usage: TokenUsage) -> float | None:
        pricing = self._pricing
        if pricing is None:
            return None
        price = pricing.configured(provider, model)
        if price is None:
            return None
        if price == FREE:
            return 0.0
        if isinstance(price, Price):
            return price.of(
                usage.input_tokens,
                usage.output_tokens,
                usage.cached_tokens,
                usage.cache_write_tokens,
                usage.hour_cache_write_tokens,
            )
        if pricing.ready:
            return pricing.public(provider, model, usage)
        return await TURN_THREADS.run(pricing.public, provider, model, usage)

    def note_reasoning(self, request: ModelRequest, content: Content) -> None:
        """Keep what people may read of the thinking in an answer, unless the persona hides it."""
        if request.reasoning != "off" and request.purpose == "turn":
            self._thoughts.append(content)

    def billed(self, response: AgentResponse) -> AgentResponse:
        """Add the usage of all attempts to a response; without any, keep the agent's own count."""
        seconds = self.seconds
        reasoning = readable_reasoning(self._thoughts)
        if reasoning is not None:
            response = response.model_copy(update={"reasoning": reasoning})
        if self._inner_calls:
            inner_calls = tuple(self._inner_calls.values())
            response = response.model_copy(update={"inner_calls": inner_calls})
        if self._usage is None:
            return response.model_copy(update={"seconds": seconds}) if seconds else response
        return response.model_copy(
            update={
                "usage": self._usage,
                "cost": self._cost,
                # without any cost it is obvious that the call has no price
                "unpriced": self._unpriced and self._cost is not None,
                "seconds": seconds,
                "cut_off": self._cut_off,
                "estimated": self._estimated,
            }
        )
