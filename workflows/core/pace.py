"""Pace: how much a run does in one workflow task, and how many branches it runs at once.

Temporal treats a workflow that does not yield within two seconds as a deadlock, refuses a
completion of more than 4 MiB, and refuses more than 2,000 pending activities. A run that meets
one of these is retried forever. Pure: the Scope of a workflow reports when a task starts.
"""

from dataclasses import dataclass, field

from dsl.model.evaluation_budget import EvaluationWork

MAX_STEPS = 500
"""Steps, and starts of branches, in one workflow task."""

MAX_WORK = 100_000
"""Evaluation work in one workflow task before the run yields; the last evaluation may exceed it.

Half of what a single evaluation may take, and far above all of an ordinary run between two calls.
The numbers that they charge decide about timers, so they are part of what a replay must repeat.
"""

MAX_CALLS = 100
"""Activities that begin in one workflow task: each takes about a millisecond."""

MAX_CALL_BYTES = 3_000_000
"""Bytes of their requests; one that is larger by itself goes alone."""

MAX_PENDING_CALLS = 1_500
"""Activities that have begun and not ended; Temporal refuses the 2,001st."""


@dataclass(slots=True)
class Pace:
    """The work of the current workflow task, and the calls in progress."""

    task: int = -1
    """The length of the history when the task began: no two tasks have the same."""
    steps: int = 0
    work: int = 0
    """Evaluation work, in the unit of `EvaluationWork`."""
    calls: int = 0
    bytes: int = 0
    pending: int = 0
    """Calls in progress."""
    silent: bool = True
    """The run has asked Temporal for nothing yet."""
    evaluations: EvaluationWork = field(default_factory=EvaluationWork)
    """Evaluation work not yet added to `work`."""

    def begin(self, task: int) -> None:
        """Start counting anew when this is another workflow task."""
        if task != self.task:
            self.task = task
            self.steps = self.work = self.calls = self.bytes = 0
        self.work += self.evaluations.take()

    def woken(self) -> None:
        """A message ended a wait.

        A replay puts a first task that asked for nothing and the next task together. The steps
        and the work before the wait must not count in either.
        """
        if self.silent:
            self.steps = self.work = 0
            self.evaluations.take()

    def may_step(self) -> bool:
        """Whether another step may begin in this task."""
        return self.steps < MAX_STEPS and self.may_evaluate()

    def may_evaluate(self) -> bool:
        """Whether another evaluation may begin in this task."""
        return self.work < MAX_WORK

    def may_call(self, size: int) -> bool:
        """Whether another call may begin in this task."""
        if self.pending >= MAX_PENDING_CALLS or self.calls >= MAX_CALLS:
            return False
        return self.calls == 0 or self.bytes + size <= MAX_CALL_BYTES

    def called(self, size: int) -> None:
        """Count a call that begins."""
        self.silent = False
        self.pending += 1
        self.calls += 1
        self.bytes += size


@dataclass(slots=True)
class Branches:
    """How many branches of a run go on at the same time, over all its nested blocks.

    A block whose branches wait for their turn runs one of them in any case, in the place of the
    branch that the block itself is in. So nested blocks never wait for each other.
    """

    limit: int
    running: int = 1

    def may_start(self, beside: int) -> bool:
        """Whether a block that runs `beside` branches may start another."""
        return beside == 0 or self.running < self.limit

    def started(self, beside: int) -> None:
        """Count a branch that starts beside others of its block."""
        if beside:
            self.running += 1

    def ended(self, beside: int) -> None:
        """Count a branch out that leaves others of its block behind."""
        if beside:
            self.running -= 1
