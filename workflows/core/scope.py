"""Scope: every durable effect that there is, as methods. The interpreter's only door.

The interpreter is written against the protocol. `workflows/temporal/durable_scope.py` has the Scope
of a workflow, the one part of the interpreter that knows Temporal; `coterie` has another that runs
in one process.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Set
from datetime import datetime
from typing import NamedTuple, Protocol

from activities.contracts import (
    AgentRequest,
    AgentResponse,
    CallOptions,
    SkillRequest,
    SkillResult,
    Spent,
)
from dsl.model.evaluation_budget import EvaluationWork
from dsl.model.outcomes import Outcome
from dsl.model.plan import Plan
from workflows.core.memory import PendingNotification
from workflows.core.patches import Patch
from workflows.core.state import RunState

Job = Callable[[], Coroutine[None, None, None]]


class Interrupted(BaseException):
    """The run stops here to continue as new; it goes on from its state, at this very place.

    Every branch of the run stops so, at its next step or in its wait, before the run continues.
    """

    def __init__(self, left: float | None = None) -> None:
        self.left = left
        """Of a wait with an end: the seconds that were left."""
        super().__init__("the run continues as new")


class on_abort:  # it reads as what it does: `async with on_abort(close):`
    """Runs a cleanup when its block is aborted: by a failure, a cancellation, a skip, a return.

    It does not when the run comes back to the block, and must find everything as it is: when the
    run continues as new (`Interrupted`), or a worker puts it out of memory (`GeneratorExit`).
    """

    def __init__(
        self, cleanup: Callable[[], Awaitable[object] | None], *, failures: bool = True
    ) -> None:
        self._cleanup = cleanup
        self._failures = failures
        """Also when an Exception aborts it, and not a cancellation alone."""

    async def __aenter__(self) -> None:
        """Enter the block."""

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: object,
    ) -> None:
        """Clean up where the block is aborted; the exception goes on."""
        if error is None or isinstance(error, Interrupted | GeneratorExit):
            return
        if self._failures or not isinstance(error, Exception):
            work = self._cleanup()
            if work is not None:
                await work


class CallFailed(Exception):
    """A call failed in an expected way, for routing to decide."""

    def __init__(self, type: str, message: str, spent: Spent | None = None) -> None:
        self.type = type
        self.message = message
        self.spent = spent
        """What its attempts used, if they report it."""
        super().__init__(message)


class Call(NamedTuple):
    """How one call is named and run."""

    id: str
    """`0003.review.sign_off`: stable over replays, unique in the run."""
    summary: str
    options: CallOptions
    step: str
    """`team/path` of the step that calls."""


class Leaving:
    """The run is about to leave its steps: no call starts, and those in progress end first."""

    def __init__(self, because: str) -> None:
        self.because = because
        self.abandoned = False
        """Whether the step that wanted to leave has been stopped."""


class Scope(Protocol):
    """The effects of a run."""

    plan: Plan
    state: RunState
    run_id: str
    """The workflow id: what people call the run."""
    in_flight: int
    """Calls in progress, counted where a plan has budgets."""
    leaving: Leaving | None
    work: EvaluationWork
    """What the evaluations of the run take."""

    def now(self) -> datetime:
        """The run's clock, UTC."""
        ...

    def time(self) -> float:
        """The same clock, in seconds of Unix time."""
        ...

    def patched(self, patch: Patch) -> bool:
        """Whether this run takes the new code of a change; the same at every replay."""
        ...

    def cancelled(self) -> str | None:
        """The reason given when somebody cancelled the run, maybe empty; None if nobody has."""
        ...

    async def checkpoint(self) -> None:
        """Run before each step: handle pause, limits and continue-as-new."""
        ...

    def weigh(self, steps: int) -> None:
        """Count work of a step that takes as long as so many others."""
        ...

    async def rest(self) -> None:
        """Stands between two evaluations of one step, of which there may be many."""
        ...

    async def grouped(self, name: str, work: Coroutine[None, None, Outcome]) -> Outcome:
        """Do the work as one group of events in the history."""
        ...

    async def run_agent(self, request: AgentRequest, call: Call) -> AgentResponse:
        """One model turn. Raises CallFailed."""
        ...

    async def call_skill(self, request: SkillRequest, call: Call) -> SkillResult:
        """One skill. Raises CallFailed."""
        ...

    def notify(self, notification: PendingNotification) -> None:
        """Send a notification without waiting; a failed delivery appears in the trail."""
        ...

    async def wait_until(
        self,
        ready: Callable[[], bool],
        seconds: float | None,
        summary: str,
        *,
        boundary: bool = True,
        stands_still: bool = True,
    ) -> bool:
        """Wait until the condition holds; False when the time is up first.

        At a `boundary` the run may continue as new, and comes back to the same wait. Its seconds
        stand still while the run is paused, unless they lead to a fixed time.

        Raises:
            Interrupted: the run continues as new; with the seconds that are left.
        """
        ...

    async def together(
        self,
        jobs: Mapping[str, Job],
        *,
        enough: Callable[[Set[str]], bool],
        at_once: int | None = None,
        seconds: float | None = None,
        wake: Callable[[], bool] | None = None,
    ) -> Set[str]:
        """Run jobs at the same time until enough have finished, and cancel the rest.

        They start in written order, `at_once` of them at a time, as long as the run has not more
        branches at once than its limit. It is also enough when the
        time is up, or when `wake` holds. A job's exception cancels all others and goes on; where
        the run continues as new, all come to their next step before `Interrupted` goes on.

        Returns:
            The names of the finished jobs.
        """
        ...
