"""Pacer: a run yields to Temporal before one workflow task gets too long or too large."""

import asyncio
from datetime import timedelta

from temporalio import workflow

from workflows.core.pace import MAX_STEPS, Pace

_MIN_PAUSE = timedelta(milliseconds=1)


class Pacer:
    """Waits for the next workflow task where the current one has done enough.

    Temporal takes a workflow that keeps the thread for a deadlock, and retries it forever. Any
    event brings the next task; if none is due, one timer serves all branches.
    """

    def __init__(self) -> None:
        self.pace = Pace()
        self._timer: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Count anew when another workflow task has begun."""
        self.pace.begin(workflow.info().get_current_history_length())

    def renewed(self) -> bool:
        """Whether another workflow task has begun since the last `begin`."""
        return workflow.info().get_current_history_length() != self.pace.task

    def idle(self) -> bool:
        """Whether no event is due that brings another workflow task."""
        return self.pace.pending == 0 and self._timer is None

    async def step(self) -> None:
        """Count a step, in the next workflow task when this one has had its share."""
        self.begin()
        while not self.pace.may_step():
            await self.next_task()
        self.pace.steps += 1

    async def rest(self) -> None:
        """Wait for the next workflow task if evaluations have used up their share of this one."""
        self.begin()
        while not self.pace.may_evaluate():
            await self.next_task()

    async def call(self, size: int) -> None:
        """Count a call with a request of so many bytes, as soon as a workflow task has room."""
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
        """Count a call out: it has ended."""
        self.pace.pending -= 1

    async def next_task(self) -> None:
        """Wait for the next workflow task, which a timer brings if nothing else does."""
        if self._timer is None:
            self._timer = asyncio.create_task(self._tick())
        await workflow.wait_condition(self.renewed)
        self.begin()

    def _because(self) -> str:
        if self.pace.may_evaluate():
            return f"{MAX_STEPS} steps without a call"
        return "expressions that take long"

    async def _tick(self) -> None:
        self.pace.silent = False
        await workflow.sleep(_MIN_PAUSE, summary=self._because())
        self._timer = None
