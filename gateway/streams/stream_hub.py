"""The followers of one gateway process: one for each run that somebody views."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from coterie.failures import CommandError
from coterie.gateway.streams.followers import Follower
from coterie.gateway.streams.history_pages import HistoryPages
from coterie.gateway.streams.poll_turns import MAX_POLLS, TURN_SECONDS, PollTurns
from coterie.runs.call_errors import Unanswered

_MAX_FOLLOWED = 10_000
_OPENING_SECONDS = 15.0
_LINGER_SECONDS = 20.0
"""How long a run is still followed when its last viewer has left: a page that is loaded anew, or a
client whose connection broke, comes back within it."""


class TooManyRuns(CommandError):
    """The process follows as many runs as it may."""

    def __init__(self) -> None:
        super().__init__(
            f"this gateway already follows {_MAX_FOLLOWED:,} runs; close some pages, or start "
            "another gateway beside it"
        )


@dataclass(slots=True)
class _Followed:
    follower: Follower
    viewers: int = 0
    end: asyncio.TimerHandle | None = None


class StreamHub:
    """Follows runs for viewers, as long as there are any."""

    def __init__(
        self,
        pages: HistoryPages,
        *,
        max_polls: int = MAX_POLLS,
        turn_seconds: float = TURN_SECONDS,
        linger: float = _LINGER_SECONDS,
    ) -> None:
        """Prepare to follow runs.

        Args:
            pages: Reads histories.
            max_polls: How many polls may wait at a time.
            turn_seconds: How long a poll waits if more runs than that are followed.
            linger: For how many seconds a run is followed without viewers.
        """
        self.pages = pages
        self.closing = asyncio.Event()
        """Set when all streams must end."""
        self._turns = PollTurns(max_polls, turn_seconds)
        self._linger = linger
        self._followed: dict[str, _Followed] = {}
        self._ends: set[asyncio.Task[None]] = set()

    @property
    def followed(self) -> int:
        """How many runs are followed."""
        return len(self._followed)

    @asynccontextmanager
    async def following(self, run: str, listener: asyncio.Event) -> AsyncGenerator[Follower]:
        """Follow a run within the block; set the event when there is something new.

        Raises:
            CommandError: There is no such run, the server refuses, or too many are followed.
        """
        followed = self._take(run)
        followed.follower.add_listener(listener)
        try:
            await _wait_until_open(run, followed.follower)
            yield followed.follower
        finally:
            followed.follower.listeners.discard(listener)
            self._release(run, followed)

    def _take(self, run: str) -> _Followed:
        followed = self._followed.get(run)
        if followed is None or followed.follower.failure is not None:
            if followed is not None:
                self._drop(run, followed)
            if len(self._followed) >= _MAX_FOLLOWED:
                raise TooManyRuns
            followed = self._followed[run] = _Followed(Follower(run, self.pages, self._turns))
            followed.follower.start()
        if followed.end is not None:
            followed.end.cancel()
            followed.end = None
        followed.viewers += 1
        return followed

    def _release(self, run: str, followed: _Followed) -> None:
        followed.viewers -= 1
        if followed.viewers == 0 and self._followed.get(run) is followed:
            loop = asyncio.get_running_loop()
            followed.end = loop.call_later(self._linger, self._drop, run, followed)

    def _drop(self, run: str, followed: _Followed) -> None:
        if self._followed.get(run) is followed:
            del self._followed[run]
        task = asyncio.ensure_future(followed.follower.stop())
        self._ends.add(task)
        task.add_done_callback(self._ends.discard)

    async def close(self) -> None:
        """End all streams, then stop to follow."""
        self.closing.set()
        for run, followed in list(self._followed.items()):
            if followed.end is not None:
                followed.end.cancel()
            for listener in followed.follower.listeners:
                listener.set()
            self._drop(run, followed)
        await asyncio.gather(*self._ends, return_exceptions=True)


async def _wait_until_open(run: str, follower: Follower) -> None:
    try:
        async with asyncio.timeout(_OPENING_SECONDS):
            await follower.opened()
    except TimeoutError:
        raise Unanswered(f"the Temporal server does not answer about run {run!r}") from None
