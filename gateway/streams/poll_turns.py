"""Share the long polls that a namespace allows among the followed runs."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

MAX_POLLS = 800
"""Of the 1,200 that a server's default allows a namespace, workers and waiting clients included."""
TURN_SECONDS = 5.0


class PollTurns:
    """Gives each follower a place for its poll; if there are too few, they take turns."""

    def __init__(self, places: int = MAX_POLLS, seconds: float = TURN_SECONDS) -> None:
        """Take the number of polls at a time, and how long a poll lasts when places are scarce."""
        self._places = places
        self._seconds = seconds
        self._free = asyncio.Semaphore(places)
        self.followers = 0
        """How many want to poll."""

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[float | None]:
        """Wait for a place; yields for how long the poll may wait, None for as long as it likes."""
        async with self._free:
            yield self._seconds if self.followers > self._places else None
