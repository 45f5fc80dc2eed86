"""The pulse of a case's worker: when it last began or ended a call.

While calls come and go the run continues, and the server need not be asked what it waits for.
"""

import asyncio
from time import monotonic
from typing import Any

from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor


class Pulse(Interceptor):
    """Notes each begin and end of a call."""

    def __init__(self) -> None:
        self._last = 0.0

    def beat(self) -> None:
        """Note that something happened."""
        self._last = monotonic()

    async def still(self, seconds: float) -> None:
        """Wait until no call has begun or ended for this long, from now on."""
        self.beat()
        left = seconds
        while left > 0:
            await asyncio.sleep(left)
            left = self._last + seconds - monotonic()

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        """Watch the calls of a worker."""
        return _Watched(next, self)


class _Watched(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, pulse: Pulse) -> None:
        super().__init__(next)
        self._pulse = pulse

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        self._pulse.beat()
        try:
            return await super().execute_activity(input)
        finally:
            self._pulse.beat()
