"""Pacer: a run yields to Temporal before one workflow task gets too long or too large."""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property

from temporalio import workflow

from coterie.workflows.core.pace import MAX_STEPS, Pace

_MIN_PAUSE = timedelta(milliseconds=1)


@dataclass(eq=False)
class Pacer:
    """Waits for the next workflow task when the current one has done enough.

    Temporal treats a workflow that keeps the thread as a deadlock, and retries it forever. Any
    event starts the next task; if none is due, one timer serves all branches.
    """

    pace: Pace = field(default_factory=Pace)
    _timer: asyncio.Task[None] | None = field(default=None, init=False)

    @cached_property
    def _info(self) -> workflow.Info:
        """The run's facts, kept because each look-up of the current run is a system call."""
        return workflow.info()

    def begin(self) -> None:
        """Restart the counters when another workflow task has begun."""
        self.pace.begin(self._info.get_current_history_length())

    def renewed(self) -> bool:
        """Return whether another workflow task has begun since the last `begin`."""
        return self._info.get_current_history_length() != self.pace.task

    def idle(self) -> bool:
        """Return whether no event is due that starts another workflow task."""
        return self.pace.pending == 0 and self._timer is None

    async def step(self) -> None:
        """Count a step; wait for the next workflow task first if this one is full."""
        self.begin()
        while not self.pace.may_step():
            await self.next_task()
        self.pace.steps += 1

    async def rest(self) -> None:
        """Wait for the next workflow task if evaluations have used up their share of this one."""
        self.begin()
        while not self.pace.may_evaluate():
            await self.next_task()

    async def settle(self) -> None:
        """Wait until everything else has gone as far as it can, in several tasks if it must."""
        while True:
            await workflow.wait_condition(lambda: True)
            self.begin()
            if self.pace.may_step():
                return
            await self.next_task()

    async def call(self, size: int) -> None:
        """Count a call with a request of `size` bytes; wait until a workflow task has room."""
        pace = self.pace
        self.begin()
        while not pace.may_call(size):
            await workflow.wait_condition(
                lambda: self.renewed() or pace.may_call(size) or self.idle()
            )
            if self.idle() and not self.renewed():
                await self.next_task()
            self.begin()
        pace.called(size)

    def called(self) -> None:
        """Count a call that has ended."""
        self.pace.pending -= 1

    async def next_task(self) -> None:
        """Wait for the next workflow task; start a timer if nothing else brings it."""
        if self._timer is None:
            self._timer = asyncio.create_task(self._tick())
        await workflow.wait_condition(self.renewed)
        self.begin()

    def _because(self) -> str:
        if self.pace.may_evaluate():
            return f"{MAX_STEPS} steps without a call"
        return "expressions that take long"

    async def _tick(self) -> None:
        self.pace.unused = False
        await workflow.sleep(_MIN_PAUSE, summary=self._because())
        self._timer = None
