"""Bounds of the verified deliveries of one webhook: how many at once, how many, and how old."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from google.protobuf.duration_pb2 import Duration
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError

from coterie.gateway.operations.error_reports import Rejection

MAX_AT_ONCE = 64
"""Verified deliveries of one webhook that are at work; the others wait for a place."""
MAX_WAIT = 20.0
"""Seconds: what a sender has given up meanwhile is done nevertheless."""
BURST = 2_000
PER_SECOND = 100.0
"""Verified deliveries of one webhook, over a long time."""
_MAX_WEBHOOKS = 1_000
_RETENTION_LIFE = 3_600.0


class DeliveryPlaces:
    """A place for each verified delivery that is at work; each webhook has places of its own."""

    def __init__(self, places: int = MAX_AT_ONCE, wait: float = MAX_WAIT) -> None:
        """Take the number of places of one webhook, and how long a delivery waits for one."""
        self._places = places
        self._wait = wait
        self._free: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        """Of the webhooks that have deliveries now."""

    @asynccontextmanager
    async def place(self, webhook: str) -> AsyncGenerator[None]:
        """Hold a place of a webhook within the block.

        Raises:
            Rejection: None got free in time.
        """
        free = self._free.setdefault(webhook, asyncio.Semaphore(self._places))
        try:
            async with asyncio.timeout(self._wait):
                await free.acquire()
        except TimeoutError:
            raise Rejection(
                503, "too_busy", "too many deliveries of this webhook are at work", "Send it later."
            ) from None
        try:
            yield
        finally:
            free.release()


class DeliveryRates:
    """How many verified deliveries each webhook may still take; bounded by a token bucket each."""

    def __init__(
        self, clock: Callable[[], float], burst: float = BURST, per_second: float = PER_SECOND
    ) -> None:
        """Take a clock and the bounds."""
        self._clock = clock
        self._burst = burst
        self._per_second = per_second
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, webhook: str) -> None:
        """Count a delivery.

        Raises:
            Rejection: The webhook had too many.
        """
        now = self._clock()
        left, since = self._left.pop(webhook, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._per_second)
        allowed = left >= 1
        self._left[webhook] = (left - 1 if allowed else left), now
        if len(self._left) > _MAX_WEBHOOKS:
            self._left.popitem(last=False)
        if not allowed:
            raise Rejection(
                429,
                "too_many_deliveries",
                f"this webhook takes {self._per_second:g} deliveries a second",
                "Send it again later.",
            )


class Retention:
    """How long the namespace keeps the history of an ended run."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Take a clock."""
        self._clock = clock
        self._known: float | None = None
        self._until = float("-inf")

    async def seconds(self, client: Client) -> float | None:
        """Return it; None if the server does not tell."""
        if self._clock() >= self._until:
            self._known = await _retention_of(client)
            self._until = self._clock() + (_RETENTION_LIFE if self._known else 60.0)
        return self._known


async def _retention_of(client: Client) -> float | None:
    request = DescribeNamespaceRequest(namespace=client.namespace)
    try:
        answer = await client.workflow_service.describe_namespace(request)
    except RPCError:  # a key may not be allowed to ask
        return None
    retention: Duration = answer.config.workflow_execution_retention_ttl
    return float(retention.ToSeconds()) or None
