"""The time limit of a call in a child process, which waits for a process first."""

import asyncio

_MARGIN_SECONDS = 1.0
"""Between the end of a call that had to wait, and the end of its activity."""


class CallTimeLimit:
    """The time limit of a call: for its wait, for its start, then for itself.

    The three together end within the time to start and the time of the call. A call that has waited
    longer for its process has what is left, at least half of its own time.
    """

    def __init__(self, to_start: float, seconds: float | None, *, patient: bool) -> None:
        """Count from now.

        Args:
            to_start: For a process to be free, and for it to start.
            seconds: For the code itself; None for no limit.
            patient: Wait for a process up to half of the code's own time, if that is longer.
        """
        self.wait = max(to_start, seconds / 2) if patient and seconds is not None else to_start
        """Seconds of the wait for a process."""
        self.timeout = asyncio.timeout(self.wait)
        self.waited = False
        """Whether it may have a process."""
        self.began = False
        self.own = 0.0
        """Seconds that the code has, once it has begun."""
        self._to_start = to_start
        self._seconds = seconds
        self._end = None if seconds is None else _now() + to_start + seconds

    def start(self) -> None:
        """Count the start of the process, which is free, from now."""
        self.waited = True
        self.timeout.reschedule(_now() + self._to_start)

    def begin(self) -> None:
        """Count the time of the code itself from now."""
        self.began = True
        if self._seconds is None or self._end is None:
            self.timeout.reschedule(None)
        else:
            now = _now()
            self.own = min(self._seconds, round(self._end - now - _MARGIN_SECONDS, 1))
            self.timeout.reschedule(now + self.own)


def _now() -> float:
    return asyncio.get_running_loop().time()
