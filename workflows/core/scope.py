"""Scope: every durable effect of a run, as methods. The interpreter reaches the world only here.

The interpreter is written against the protocol. `workflows/temporal/durable_scope.py` implements it
for a workflow and is the only part of the interpreter that knows Temporal; `coterie` implements it
for one process.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Set
from datetime import datetime
from typing import NamedTuple, Protocol

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    CallOptions,
    FunctionRequest,
    FunctionResult,
    Spent,
)
from coterie.dsl.model.evaluation_budget import EvaluationWork
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.temporal_calls import CommandTarget
from coterie.dsl.model.tools.asked_input import AskedInput
from coterie.dsl.values import JsonValue
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_parts import PendingNotification

Job = Callable[[], Coroutine[None, None, None]]


class JobSource(Protocol):
    """Gives jobs one by one: the end of one can make others possible."""

    begun: dict[str, Job]
    """Those that were in progress when the run continued as new: they come first."""

    def take(self) -> tuple[str, Job] | None:
        """Return the next job, with its name; None while none may start."""
        ...


Jobs = Mapping[str, Job] | JobSource


class Interrupted(BaseException):
    """The run stops here to continue as new, and then continues from its state right here.

    Every branch of the run stops at its next step or in its wait before the run continues as new.
    """

    def __init__(self, left: float | None = None) -> None:
        self.left = left
        """Seconds left of a wait with an end."""
        super().__init__("the run continues as new")


class on_abort:  # lower case, since it reads `async with on_abort(close):`
    """Runs a cleanup when its block is aborted: by a failure, a cancellation, a skip, a return.

    No cleanup runs if the run returns to the block and must find everything unchanged: when it
    continues as new (`Interrupted`), or a worker evicts it (`GeneratorExit`).
    """

    def __init__(
        self, cleanup: Callable[[], Awaitable[object] | None], *, failures: bool = True
    ) -> None:
        self._cleanup = cleanup
        self._failures = failures
        """Whether an Exception counts as well, and not only a cancellation."""

    async def __aenter__(self) -> None:
        """Enter the block."""

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: object,
    ) -> None:
        """Clean up if the block is aborted; the exception propagates."""
        if error is not None and is_abort(error, failures=self._failures):
            work = self._cleanup()
            if work is not None:
                await work


def is_abort(error: BaseException, *, failures: bool) -> bool:
    """Return whether an exception ends its block for good; a failure only if failures count."""
    if isinstance(error, Interrupted | GeneratorExit):
        return False
    return failures or not isinstance(error, Exception)


class NeverCalled(BaseException):
    """Marks the cancellation of a call that had not begun."""


class CallFailed(Exception):
    """A call failed in an expected way, for routing to decide."""

    def __init__(
        self,
        type: str,
        message: str,
        spent: Spent | None = None,
        asked: AskedInput | None = None,
    ) -> None:
        self.type = type
        self.message = message
        self.spent = spent
        """What its attempts used, if they report it."""
        self.asked = asked
        """What a person must answer before it is made again."""
        super().__init__(message)


class Call(NamedTuple):
    """The name of a call, and how to run it."""

    id: str
    """`0003.review.sign_off`: stable over replays, unique in the run."""
    summary: str
    options: CallOptions
    step: str
    """`team/path` of the step that calls."""


class TemporalRequest(NamedTuple):
    """What a call asks of an activity, a workflow or a Nexus operation."""

    name: str
    """In the worker's configuration."""
    target: CommandTarget
    given: JsonValue
    """Its whole input."""


class Leaving:
    """The run is about to leave its steps: no call starts, and running calls end first."""

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
        """Return the run's clock, UTC."""
        ...

    def time(self) -> float:
        """Return the run's clock as seconds of Unix time."""
        ...

    def cancelled(self) -> str | None:
        """Return the reason given for cancelling the run, maybe empty; None if not cancelled."""
        ...

    async def checkpoint(self) -> None:
        """Run before each step: handle pause, limits and continue-as-new."""
        ...

    def weigh(self, steps: int) -> None:
        """Count work as this many steps of what one workflow task may do."""
        ...

    async def rest(self) -> None:
        """Yield between two evaluations of one step, if this workflow task has had its share."""
        ...

    async def settle(self) -> None:
        """Let everything else get as far as it can without another event."""
        ...

    async def grouped(self, name: str, work: Coroutine[None, None, Outcome]) -> Outcome:
        """Do the work as one group of events in the history."""
        ...

    async def run_agent(self, request: AgentRequest, call: Call) -> AgentResponse:
        """Run one model turn. Raises CallFailed."""
        ...

    async def call_function(self, request: FunctionRequest, call: Call) -> FunctionResult:
        """Call one tool function. Raises CallFailed."""
        ...

    async def call_on_temporal(self, request: TemporalRequest, call: Call) -> FunctionResult:
        """Call what already runs on Temporal. Raises CallFailed."""
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
        """Wait until the condition holds; False if the time is up first.

        At a `boundary` the run may continue as new, and then resumes this wait. While the run is
        paused, the time stops, unless `stands_still` is false: the wait then ends at a fixed time.

        Raises:
            Interrupted: the run continues as new; with the seconds that are left.
        """
        ...

    async def messages_delivered(self) -> None:
        """Wait for the messages that arrive in the same moment as the end of a wait."""
        ...

    async def together(
        self,
        jobs: Jobs,
        *,
        enough: Callable[[Set[str]], bool],
        at_once: int | None = None,
        seconds: float | None = None,
        wake: Callable[[], bool] | None = None,
        begun: Set[str] = frozenset(),
    ) -> Set[str]:
        """Run jobs concurrently until enough have finished, and cancel the rest.

        A source of jobs that gives none is asked again when one of its jobs has ended.

        They start in written order, `at_once` of them at a time, within the run's limit of
        concurrent branches. A time limit or `wake` also ends the wait. An exception of a job
        cancels all others and propagates; when the run continues as new, all reach their next step
        before `Interrupted` propagates. Jobs that had `begun` when the run continued as new come
        back whatever the limit of the run, since they ran at once before.

        Returns:
            The names of the finished jobs.
        """
        ...
