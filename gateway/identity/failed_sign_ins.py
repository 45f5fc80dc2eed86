"""Limit failed sign-ins per address, in bounded memory."""

from collections import OrderedDict, deque

from coterie.gateway.identity.client_addresses import counted_as

MAX_FAILURES = 20
"""Of one address within the window: people mistype, and an office shares one address."""
WINDOW = 600.0
"""Seconds."""
MAX_ADDRESSES = 10_000


class FailedSignIns:
    """The failures of each address within the window; the oldest address makes room for another."""

    def __init__(
        self, failures: int = MAX_FAILURES, window: float = WINDOW, addresses: int = MAX_ADDRESSES
    ) -> None:
        """Take the limits."""
        self._max_failures = failures
        self._window = window
        self._max_addresses = addresses
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def wait_for(self, address: str, now: float) -> float:
        """Return how many seconds an address must wait before it may try again; mostly 0."""
        times = self._times.get(counted_as(address))
        if times is None or len(times) < self._max_failures:
            return 0.0
        return max(0.0, times[0] + self._window - now)

    def record(self, address: str, now: float) -> None:
        """Count a failure."""
        key = counted_as(address)
        times = self._times.setdefault(key, deque(maxlen=self._max_failures))
        times.append(now)
        self._times.move_to_end(key)
        if len(self._times) > self._max_addresses:
            self._times.popitem(last=False)
