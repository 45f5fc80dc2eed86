"""The time limit of a call in a child process, which waits for a process first."""

import asyncio


class CallTimeLimit:
    """The time limit of a call: first for its start, then for itself."""

    def __init__(self, seconds: float) -> None:
        self.timeout = asyncio.timeout(seconds)
        self.waited = False
        """Whether it may have a process."""
        self.began = False

    def begin(self, seconds: float | None) -> None:
        """Count the time of the code itself from now."""
        self.began = True
        now = asyncio.get_running_loop().time()
        self.timeout.reschedule(None if seconds is None else now + seconds)
