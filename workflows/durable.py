"""DurableScope: the effects of a run as Temporal's own. It stays inside the workflow sandbox."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime, timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import SearchAttributeKey, SearchAttributeUpdate

from activities.contracts import AgentRequest, AgentResponse, SkillRequest, SkillResult
from dsl.outcomes import Outcome
from dsl.plan import Plan
from workflows.attributes import Attributes, attributes
from workflows.calls import Calls
from workflows.control import amend
from workflows.memory import Telling
from workflows.notifier import Notifier
from workflows.patches import Patch
from workflows.scope import Call, Interrupted, Job, Leaving
from workflows.state import RunState
from workflows.ways import Ways, interrupted, left_of

MOST_STEPS_AT_ONCE = 500
"""Steps that a run may take without a call before it gives Temporal's thread back."""

_LONGEST_SUMMARY = 200
_BREATH = timedelta(milliseconds=1)


class DurableScope:
    """The Scope of a workflow: its effects are events of Temporal's history."""

    in_flight = 0
    leaving: Leaving | None = None

    def __init__(self, plan: Plan, state: RunState, board: Callable[[], str]) -> None:
        self.plan = plan
        self.state = state
        self.run_id = workflow.info().workflow_id
        self._board = board
        self.done = False
        self.notifier = Notifier(state)
        self._upserted: Attributes = {}
        self._stopping = 0
        self._held = 0
        self._calls = Calls(state, self.run_id)
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

    def cancelled(self) -> str | None:
        """The reason of the request to cancel; what Temporal keeps of it."""
        return workflow.cancellation_reason()

    async def checkpoint(self) -> None:
        """Refresh the live board; wait while paused; stop to continue as new when it is time.

        It writes no event.
        """
        state = self.state
        await self._breathe()
        if state.paused is not None:
            self.show()
            await workflow.wait_condition(lambda: state.paused is None or self._ending())
            if self._ending():
                raise Interrupted
        if state.amendments:
            amend(state, self.now())
        if state.doing:  # between two teams there is nothing new to show
            workflow.set_current_details(self._board())
        if state.marks is not None and state.marks.search_attributes:
            self._upsert()
        if self._ending():
            raise Interrupted

    def _ending(self) -> bool:
        """Whether the run is to continue as new: not while it is cancelled, or stops a way of it.

        What it then does in a `finally` belongs to what is left.
        """
        info = workflow.info()
        return (
            info.is_continue_as_new_suggested()
            and info.get_current_history_length() >= self._held
            and self._stopping == 0
            and workflow.cancellation_reason() is None
        )

    def hold(self, events: int) -> None:
        """Do not continue as new before the history has so many events."""
        self._held = events

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
        """Bring the live board up to date, and what Temporal's lists tell."""
        workflow.set_current_details(self._board())
        marks = self.state.marks
        if marks is not None and marks.search_attributes:
            self._upsert()

    def _upsert(self) -> None:
        """One event, when something is new: at a new team, at a wait, at its end."""
        current = attributes(self.plan, self.state, done=self.done)
        new = {key: value for key, value in current.items() if self._upserted.get(key, ()) != value}
        if new:
            self._upserted = current
            updates = [_update(key, value) for key, value in new.items()]
            workflow.upsert_search_attributes(updates)  # pyright: ignore[reportUnknownMemberType]

    async def run_agent(self, request: AgentRequest, call: Call) -> AgentResponse:
        """One activity `run_agent`."""
        return await self._calls.run_agent(request, call)

    async def call_skill(self, request: SkillRequest, call: Call) -> SkillResult:
        """One activity `call_skill`."""
        return await self._calls.call_skill(request, call)

    def cut(self, step: str) -> None:
        """End the call that a step waits for, if it does; its outcome is not waited for."""
        self._calls.cut(step)

    async def grouped(self, name: str, work: Coroutine[None, None, Outcome]) -> Outcome:
        """An event group: a few bytes with each call."""
        with workflow.create_event_group(name).scope():
            return await work

    def tell(self, telling: Telling) -> None:
        """One activity `notify`, beside whatever the run does."""
        self.notifier.tell(telling)

    async def wait_until(
        self,
        ready: Callable[[], bool],
        seconds: float | None,
        summary: str,
        *,
        boundary: bool = True,
    ) -> bool:
        """A wait that signals and updates end; a timer only when there is a deadline."""
        state = self.state
        left = seconds

        def stirred() -> bool:
            return ready() or ending() or (seconds is not None and state.paused is not None)

        def ending() -> bool:
            return boundary and self._ending()

        while True:
            self.show()
            if ending() and not ready():
                raise Interrupted(left)
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
            await workflow.wait_condition(lambda: ready() or state.paused is None or ending())

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
        ways = Ways(jobs)
        timer = None
        if seconds is not None:
            told = f"time limit of {', '.join(jobs)}"[:_LONGEST_SUMMARY]
            timer = asyncio.create_task(self.wait_until(lambda: False, seconds, told))

        def stirred() -> bool:
            return (
                any(task.done() for task in ways.running.values())
                or (timer is not None and timer.done() and not interrupted(timer))
                or (wake is not None and wake())
            )

        over = False  # by the time, or by a signal
        try:
            while ways.go_on and not over and not enough(ways.finished):
                ways.start(at_once)
                await workflow.wait_condition(stirred)
                over = not ways.ended()
        except GeneratorExit:
            raise  # the run is put out of memory: nothing can be waited for any more
        except BaseException:
            await self._stopped(ways.running, timer)
            raise
        if ways.stopped and not over and not enough(ways.finished):
            raise Interrupted(await left_of(timer))
        await self._stopped(ways.running, timer)
        return ways.finished

    async def _stopped(
        self, running: Mapping[str, asyncio.Task[None]], timer: asyncio.Task[bool] | None
    ) -> None:
        """Stop what is not needed any more, and wait until it has stopped."""
        self._stopping += 1
        rest: list[asyncio.Task[Any]] = [*running.values()]
        if timer is not None:
            rest.append(timer)
        try:
            for task in rest:
                task.cancel()
            for task in rest:
                await self._ended(task)
        finally:
            self._stopping -= 1

    async def _ended(self, task: asyncio.Task[Any]) -> None:
        """Wait until a task that was told to stop has stopped, with its `finally` steps.

        When the run itself is cancelled meanwhile, they have the time that it has.
        """
        try:
            await workflow.wait([task])
        except asyncio.CancelledError:
            if self.cancelled() is None:
                raise
            limit = self.plan.limits.cancel_timeout
            await workflow.wait([task], timeout=limit)
            task.cancel()
            await workflow.wait([task])
            raise
        if not task.cancelled() and not interrupted(task):
            task.result()


def _update(key: str, value: str | tuple[str, ...]) -> SearchAttributeUpdate[Any]:
    if isinstance(value, str):
        return SearchAttributeKey.for_keyword(key).value_set(value)
    return SearchAttributeKey.for_keyword_list(key).value_set(value)
