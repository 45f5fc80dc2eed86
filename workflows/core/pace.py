"""Pace: how much a run does in one workflow task, and how many branches it runs at once.

Temporal treats a workflow that does not yield within two seconds as a deadlock, refuses a
completion of more than 4 MiB, and refuses more than 2,000 pending activities. A run that meets
one of these is retried forever. Pure: the Scope of a workflow reports when a task starts.
"""

from dataclasses import dataclass, field

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


@dataclass(slots=True)
class Branches:
    """How many branches of a run are in progress, over all its nested blocks.

    A block whose branches wait for their turn always runs one of them, in the slot of the branch
    that contains the block. So nested blocks never wait for each other.
    """

    limit: int
    running: int = 1

    def may_start(self, beside: int) -> bool:
        """Return whether a block with `beside` running branches may start another."""
        return beside == 0 or self.running < self.limit

    def started(self, beside: int) -> None:
        """Count a branch that starts while `beside` others of its block run."""
        if beside:
            self.running += 1

    def ended(self, beside: int) -> None:
        """Count a branch that ends while `beside` others of its block run."""
        if beside:
            self.running -= 1
