"""DurableScope: the effects of a run as Temporal's own. It stays inside the workflow sandbox."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TypeVar

from pydantic import BaseModel
from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, CancelledError
from temporalio.exceptions import TimeoutError as CallTimedOut

from activities.contracts import (
    CALL_SKILL,
    HEARTBEAT_TIMEOUT,
    RUN_AGENT,
    AgentRequest,
    AgentResponse,
    FailureType,
    SkillRequest,
    SkillResult,
)
from dsl.plan import Plan
from workflows.control import amend
from workflows.encoding import encoded
from workflows.patches import Patch
from workflows.scope import Call, CallFailed, Interrupted, Job
from workflows.state import RunState

MOST_STEPS_AT_ONCE = 500
"""Steps that a run may take without a call before it gives Temporal's thread back."""

_BREATH = timedelta(milliseconds=1)
T = TypeVar("T")


class DurableScope:
    """The Scope of a workflow: its effects are events of Temporal's history."""

    def __init__(self, plan: Plan, state: RunState, board: Callable[[], str]) -> None:
        self.plan = plan
        self.state = state
        self.run_id = workflow.info().workflow_id
        self._board = board
        self._at_once = 0
        self._steps = 0
        self._clock = asyncio.get_running_loop().time  # Temporal's, and the shortest way to it
        self._counted_at = self._clock()

    def now(self) -> datetime:
        """Temporal's time of the current workflow task."""
        return workflow.now()

    def time(self) -> float:
        """The same, in seconds of Unix time; cheaper where only a difference is wanted."""
        return self._clock()

    def patched(self, patch: Patch) -> bool:
        """One event in the history of a run that asks for the first time, none in older ones."""
        return workflow.patched(patch.value)

    async def checkpoint(self) -> None:
        """Refresh the live board; wait while paused; stop to continue as new when it is time.

        It writes no event. While several ways run at once a run does not continue as new: it
        does so at the first step after they have met.
        """
        state = self.state
        await self._breathe()
        if state.paused is not None:
            workflow.set_current_details(self._board())
            await workflow.wait_condition(lambda: state.paused is None)
        if state.amendments:
            amend(state, self.now())
        if state.doing:  # between two teams there is nothing new to show
            workflow.set_current_details(self._board())
        if self._at_once == 0 and workflow.info().is_continue_as_new_suggested():
            raise Interrupted

    async def _breathe(self) -> None:
        """Let Temporal have a word after many steps that call nothing: it waits two seconds.

        A loop over thousands of items that only sets variables would never give the thread
        back, be taken for a deadlock, and be tried again for ever.
        """
        now = self._clock()
        if now != self._counted_at:
            self._counted_at, self._steps = now, 0
        self._steps += 1
        if self._steps > MOST_STEPS_AT_ONCE:
            await workflow.sleep(_BREATH, summary=f"{MOST_STEPS_AT_ONCE} steps without a call")

    def show(self) -> None:
        """Bring the live board up to date."""
        workflow.set_current_details(self._board())

    async def run_agent(self, request: AgentRequest, call: Call) -> AgentResponse:
        """One activity `run_agent`, on the workflow's own task queue (eager start)."""
        return await self._call(RUN_AGENT, request, AgentResponse, call)

    async def call_skill(self, request: SkillRequest, call: Call) -> SkillResult:
        """One activity `call_skill`."""
        return await self._call(CALL_SKILL, request, SkillResult, call)

    async def _call(self, name: str, request: BaseModel, result: type[T], call: Call) -> T:
        sendable = encoded(request)
        if isinstance(sendable, str):
            raise CallFailed(FailureType.REQUEST_TOO_LARGE, f"{call.summary}: {sendable}")
        try:
            return await workflow.execute_activity(
                name,
                sendable,
                result_type=result,
                activity_id=call.id,
                summary=call.summary,
                start_to_close_timeout=timedelta(seconds=call.options.timeout),
                heartbeat_timeout=HEARTBEAT_TIMEOUT,
                retry_policy=call.options.retry_policy(),
            )
        except ActivityError as error:
            raise _expected(error, call) from error

    async def wait_until(
        self, ready: Callable[[], bool], seconds: float | None, summary: str
    ) -> bool:
        """A wait that signals and updates end; a timer only when there is a deadline."""
        state = self.state
        left = seconds

        def stirred() -> bool:
            return ready() or (seconds is not None and state.paused is not None)

        while True:
            self.show()
            began = workflow.time()
            timeout = None if left is None else timedelta(seconds=max(left, 0))
            try:
                await workflow.wait_condition(stirred, timeout=timeout, timeout_summary=summary)
            except TimeoutError:
                return False
            if ready():
                return True
            if left is not None:  # paused: its time stands still
                left -= workflow.time() - began
            await workflow.wait_condition(lambda: ready() or state.paused is None)

    async def together(
        self,
        jobs: Mapping[str, Job],
        *,
        enough: Callable[[frozenset[str]], bool],
        at_once: int | None = None,
        seconds: float | None = None,
        wake: Callable[[], bool] | None = None,
    ) -> frozenset[str]:
        """Coroutines of this one workflow; no event but those of what they do."""
        waiting = dict(jobs)
        running: dict[str, asyncio.Task[None]] = {}
        finished: frozenset[str] = frozenset()
        timer = None
        if seconds is not None:
            timer = asyncio.create_task(self.wait_until(lambda: False, seconds, "time limit"))
        self._at_once += 1

        def stirred() -> bool:
            return (
                any(task.done() for task in running.values())
                or (timer is not None and timer.done())
                or (wake is not None and wake())
            )

        try:
            while (waiting or running) and not enough(finished):
                while waiting and (at_once is None or len(running) < at_once):
                    name = next(iter(waiting))
                    running[name] = asyncio.create_task(waiting.pop(name)())
                await workflow.wait_condition(stirred)
                ended = [name for name, task in running.items() if task.done()]
                for name in ended:
                    running.pop(name).result()
                    finished |= {name}
                if not ended:
                    break
        except GeneratorExit:
            raise  # the run is put out of memory: nothing can be waited for any more
        except BaseException:
            await self._stopped(running, timer)
            raise
        await self._stopped(running, timer)
        return finished

    async def _stopped(
        self, running: Mapping[str, asyncio.Task[None]], timer: asyncio.Task[bool] | None
    ) -> None:
        """Stop what is not needed any more, and wait until it has stopped."""
        self._at_once -= 1
        rest = [*running.values(), *([timer] if timer is not None else [])]
        for task in rest:
            task.cancel()
        for task in rest:
            with suppress(asyncio.CancelledError, CancelledError):
                await task


def _expected(error: ActivityError, call: Call) -> BaseException:
    """The failure of a call as an expected one; a cancellation stays what it is."""
    cause = error.cause
    match cause:
        case ApplicationError():
            return CallFailed(cause.type or "Error", cause.message)
        case CallTimedOut() if call.options.effect == "once":
            return CallFailed(
                FailureType.OUTCOME_UNKNOWN,
                f"{call.summary} was lost on its way: whether it happened is not known",
            )
        case CallTimedOut():
            seconds = call.options.timeout
            return CallFailed("Timeout", f"{call.summary} did not answer within {seconds:g} s")
        case CancelledError():
            return cause  # as the error around it, a loser's cancellation would end the run
        case _:
            return error
