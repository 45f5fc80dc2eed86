"""The second Scope: the same interpreter in one process, without Temporal and durability.

For unit tests and the agents of programs. Nothing survives the process; for
reliability, start a workflow.
"""

import asyncio
from collections.abc import Callable, Coroutine, Set
from datetime import UTC, datetime
from typing import Protocol
from uuid import uuid4

from pydantic import JsonValue
from temporalio.exceptions import ApplicationError

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FailureType,
    FunctionRequest,
    FunctionResult,
    Notification,
)
from coterie.dsl.model.evaluation_budget import EvaluationWork
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Plan
from coterie.workflows.approvals import decisions as approvals
from coterie.workflows.approvals.decision_refusals import decision_refusal_text
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.requests import Decision
from coterie.workflows.core.scope import Call, CallFailed, Jobs, Leaving, TemporalRequest
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_parts import PendingNotification
from coterie.workflows.temporal.branches import Branches, BranchGroup
from coterie.workflows.temporal.call_failures import expected_failure
from coterie.workflows.temporal.pacer import Pace


class World(Protocol):
    """The activities that a plan's calls reach, called directly."""

    async def run_agent(self, request: AgentRequest) -> AgentResponse:
        """Run one model turn."""
        ...

    async def call_function(self, request: FunctionRequest) -> FunctionResult:
        """Run one tool function."""
        ...


class Refused(Exception):
    """A decision that the run rejects."""


class LocalScope:
    """Implements the effects of a run inside one process."""

    in_flight = 0
    leaving: Leaving | None = None

    def __init__(self, plan: Plan, state: RunState, world: World, *, run_id: str = "local") -> None:
        self.plan = plan
        self.state = state
        self.run_id = run_id
        state.execution = state.execution or str(uuid4())
        self.notifications: list[Notification] = []
        """Notifications that would have been sent."""
        self.work = EvaluationWork()
        self._world = world
        self._stirred = asyncio.Event()
        self._branches = Branches(plan.limits.max_concurrent_branches)

    def now(self) -> datetime:
        """Return the machine's clock, in UTC."""
        return datetime.now(UTC)

    def time(self) -> float:
        """Return the time in seconds of Unix time."""
        return self.now().timestamp()

    def cancelled(self) -> str | None:
        """Return None: only its caller can cancel it, at once."""
        return None

    async def checkpoint(self) -> None:
        """Yield to other tasks."""
        self.work.take()
        await asyncio.sleep(0)

    def weigh(self, steps: int) -> None:
        """Do nothing: every checkpoint already yields."""

    async def rest(self) -> None:
        """Yield to other tasks."""
        await asyncio.sleep(0)

    async def settle(self) -> None:
        """Yield to other tasks."""
        await asyncio.sleep(0)

    async def grouped(self, name: str, work: Coroutine[None, None, Outcome]) -> Outcome:
        """Run the work without a group: no UI shows it."""
        return await work

    async def run_agent(self, request: AgentRequest, call: Call) -> AgentResponse:
        """Run one model turn; a retryable failure is not retried here."""
        try:
            async with asyncio.timeout(call.options.timeout):
                return await self._world.run_agent(request)
        except (ApplicationError, TimeoutError) as error:
            raise _expected_failure(error, call) from error
        finally:  # once the turn is over: another may wait for its conversation
            asyncio.get_running_loop().call_soon(self._stirred.set)

    async def call_function(self, request: FunctionRequest, call: Call) -> FunctionResult:
        """Run one tool function, once."""
        try:
            async with asyncio.timeout(call.options.timeout):
                return await self._world.call_function(request)
        except (ApplicationError, TimeoutError) as error:
            raise _expected_failure(error, call) from error
        finally:
            self._stirred.set()

    async def call_on_temporal(self, request: TemporalRequest, call: Call) -> FunctionResult:
        """Refuse the call: without Temporal there is nothing to reach.

        Raises:
            CallFailed: Always.
        """
        message = f"{call.summary} runs on Temporal, and this run does not: start it there"
        raise CallFailed(FailureType.FUNCTION_REFUSED, message)

    def notify(self, notification: PendingNotification) -> None:
        """Record the notification without sending it."""
        self.notifications.append(notification.message)

    async def wait_until(
        self,
        ready: Callable[[], bool],
        seconds: float | None,
        summary: str,
        *,
        boundary: bool = True,
        stands_still: bool = True,
    ) -> bool:
        """Wait until a decision or a signal satisfies the condition."""
        try:
            async with asyncio.timeout(seconds):
                while not ready():
                    self._stirred.clear()
                    await self._stirred.wait()
        except TimeoutError:
            return False
        finally:  # also if it is cancelled: another may wait for its place
            self._stirred.set()
        return True

    async def messages_delivered(self) -> None:
        """Do nothing: messages arrive at any time."""

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
        """Run the jobs as tasks of this event loop."""
        pace = Pace()
        group = BranchGroup(jobs, self._branches, pace)
        woken = asyncio.create_task(
            self.wait_until(lambda: wake is not None and wake(), seconds, "")
        )
        try:
            while group.go_on and not enough(group.finished):
                pace.begin(pace.task + 1)  # the event loop yields by itself
                group.start(at_once)
                await asyncio.wait(
                    [woken, *group.running.values()], return_when=asyncio.FIRST_COMPLETED
                )
                if not group.ended() and woken.done():
                    break
        finally:
            woken.cancel()
            for task in group.running.values():
                task.cancel()
            await asyncio.gather(woken, *group.running.values(), return_exceptions=True)
            group.leave()
        return group.finished

    def decide(self, asked: DecideInput) -> Decision:
        """Decide a request of this run.

        Raises:
            Refused: With the reason.
        """
        refusal = approvals.refusal(self.state, asked)
        if refusal is not None:
            raise Refused(decision_refusal_text(refusal))
        decision = approvals.record(self.state, asked, self.now(), "update")
        self._stirred.set()
        return decision

    def signal(self, name: str, payload: JsonValue = None) -> None:
        """Deliver a named signal to its waiter."""
        self.state.signals.setdefault(name, []).append(payload)
        self._stirred.set()


def _expected_failure(error: ApplicationError | TimeoutError, call: Call) -> BaseException:
    if isinstance(error, ApplicationError):
        return expected_failure(error, call)
    if call.options.effect == "once":
        return CallFailed(
            FailureType.OUTCOME_UNKNOWN,
            f"{call.summary} did not answer in time: its outcome is unknown",
        )
    seconds = call.options.timeout
    return CallFailed("Timeout", f"{call.summary} did not answer within {seconds:g} s")
