"""Pacer: a run yields to Temporal before one workflow task gets too long or too large.

Temporal treats a workflow that does not yield within two seconds as a deadlock, refuses a
completion of more than 4 MiB, and refuses more than 2,000 pending activities. A run that meets
one of these is retried forever.
"""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property

from temporalio import workflow

from coterie.dsl.model.evaluation_budget import EvaluationWork

MAX_STEPS = 500
"""Maximum steps, and starts of branches, in one workflow task."""

MAX_WORK = 100_000
"""Maximum evaluation work in one workflow task before the run yields; the last evaluation may
exceed it.

Half of what a single evaluation may take, and far more than an ordinary run needs between two
calls. The charges decide about timers, so a replay must repeat them exactly.
"""

MAX_CALLS = 100
"""Maximum activities that begin in one workflow task: each takes about a millisecond."""

MAX_CALL_BYTES = 3_000_000
"""Maximum bytes of their requests; a larger one starts alone."""

MAX_PENDING_CALLS = 1_500
"""Maximum activities in progress; Temporal refuses the 2,001st."""


@dataclass(slots=True)
class Pace:
    """The work of the current workflow task, and the calls in progress."""

    task: int = -1
    """The length of the history when the task began: it identifies the task."""
    steps: int = 0
    work: int = 0
    """Evaluation work, in the unit of `EvaluationWork`."""
    calls: int = 0
    bytes: int = 0
    pending: int = 0
    """Calls in progress."""
    unused: bool = True
    """Whether the run has not asked Temporal for anything yet."""
    evaluations: EvaluationWork = field(default_factory=EvaluationWork)
    """Evaluation work not yet added to `work`."""

    def begin(self, task: int) -> None:
        """Restart the counters if this is another workflow task."""
        if task != self.task:
            self.task = task
            self.steps = self.work = self.calls = self.bytes = 0
        if self.evaluations.meters:
            self.work += self.evaluations.take()

    def woken(self) -> None:
        """Restart the counters after a message ended a wait.

        A replay merges a first task that asked for nothing with the next task, so the steps and the
        work before the wait must not count in either.
        """
        if self.unused:
            self.steps = self.work = 0
            self.evaluations.meters.clear()

    def may_step(self) -> bool:
        """Return whether another step may begin in this task."""
        return self.steps < MAX_STEPS and self.may_evaluate()

    def may_evaluate(self) -> bool:
        """Return whether another evaluation may begin in this task."""
        return self.work < MAX_WORK

    def may_call(self, size: int) -> bool:
        """Return whether another call may begin in this task."""
        if self.pending >= MAX_PENDING_CALLS or self.calls >= MAX_CALLS:
            return False
        return self.calls == 0 or self.bytes + size <= MAX_CALL_BYTES

    def called(self, size: int) -> None:
        """Count a call that begins."""
        self.unused = False
        self.pending += 1
        self.calls += 1
        self.bytes += size


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
