"""DurableScope: the effects of a run as Temporal's own. It stays inside the workflow sandbox."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence, Set
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from temporalio import workflow
from temporalio.common import SearchAttributeKey, SearchAttributeUpdate

from activities.contracts import AgentRequest, AgentResponse, SkillRequest, SkillResult
from dsl.model.outcomes import Outcome
from dsl.model.plan import Plan
from workflows.control.cancellation import begin_to_stop
from workflows.control.pause_and_amend import amend
from workflows.core.memory import PendingNotification
from workflows.core.pace import Branches
from workflows.core.patches import Patch
from workflows.core.scope import Call, Interrupted, Job, Leaving
from workflows.core.state import RunState
from workflows.temporal.activity_calls import Calls
from workflows.temporal.branches import BranchGroup, failures, gives_way, interrupted, left_of
from workflows.temporal.notifier import Notifier
from workflows.temporal.pacer import Pacer
from workflows.temporal.search_attributes import Attributes, attributes

_MAX_SUMMARY_LENGTH = 200
_MAX_NAMED = 20


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
        self._upserted: Attributes = {}
        self._stopping = 0
        self._held = 0
        self._pacer = Pacer()
        self.work = self._pacer.pace.evaluations
        self._branches = Branches(plan.limits.max_concurrent_branches)
        self._calls = Calls(state, self.run_id, self._pacer)
        self.notifier = Notifier(state, self._pacer)
        self._clock = asyncio.get_running_loop().time  # Temporal's, and the shortest way to it

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
        await self._pacer.step()
        if state.paused is not None:
            self.show()
            await workflow.wait_condition(lambda: state.paused is None or self._ending())
            self._pacer.pace.woken()
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

    def weigh(self, steps: int) -> None:
        """The run yields so much earlier."""
        self._pacer.pace.steps += steps

    async def rest(self) -> None:
        """Yield where evaluations have taken their share of the workflow task."""
        await self._pacer.rest()

    def hold(self, events: int) -> None:
        """Do not continue as new before the history has so many events."""
        self._held = events

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

    def tell(self, telling: PendingNotification) -> None:
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
                return ready()  # both may come in one workflow task
            self._pacer.pace.woken()
            if ready():
                return True
            if left is not None:  # paused: its time stands still
                left -= workflow.time() - began
            await workflow.wait_condition(lambda: ready() or state.paused is None or ending())

    async def together(
        self,
        jobs: Mapping[str, Job],
        *,
        enough: Callable[[Set[str]], bool],
        at_once: int | None = None,
        seconds: float | None = None,
        wake: Callable[[], bool] | None = None,
    ) -> Set[str]:
        """Coroutines of this one workflow; no event but those of what they do."""
        ways = BranchGroup(jobs, self._branches, self._pacer.pace)
        timer = None
        if seconds is not None:
            told = f"time limit of {', '.join(islice(jobs, _MAX_NAMED))}"[:_MAX_SUMMARY_LENGTH]
            timer = asyncio.create_task(self.wait_until(lambda: False, seconds, told))

        def stirred() -> bool:
            return (
                ways.stirred
                or (timer is not None and timer.done() and not interrupted(timer))
                or (wake is not None and wake())
            )

        over = False  # by the time, or by a signal
        try:
            while ways.go_on and not over and not enough(ways.finished):
                await self._start(ways, at_once, stirred)
                if stirred():
                    over = not ways.ended()
        except GeneratorExit:
            raise  # the run is put out of memory: nothing can be waited for any more
        except BaseException as error:
            await self._stopped(ways, timer, error)
            raise
        if ways.stopped and not over and not enough(ways.finished):
            raise Interrupted(await left_of(timer))
        await self._stopped(ways, timer)
        return ways.finished

    async def _start(
        self, ways: BranchGroup, at_once: int | None, stirred: Callable[[], bool]
    ) -> None:
        """Start a portion of branches, and wait until one has ended or others may start."""
        pacer = self._pacer

        def may_go_on() -> bool:
            if not ways.wants(at_once):
                return False
            return pacer.pace.may_step() or pacer.renewed() or pacer.idle()

        pacer.begin()
        ways.start(at_once)
        await workflow.wait_condition(lambda: stirred() or may_go_on())
        if not stirred() and not pacer.pace.may_step() and not pacer.renewed():
            await pacer.next_task()

    async def _stopped(
        self,
        ways: BranchGroup,
        timer: asyncio.Task[bool] | None,
        error: BaseException | None = None,
    ) -> None:
        """Stop what is not needed any more, and wait until all of it has stopped.

        Args:
            ways: those that still run.
            timer: of their time limit.
            error: what they are stopped for, unless enough of them have ended.

        Raises:
            BaseException: the first failure of one that was to stop. A failure that was expected
                gives way to `error`, and to the end of a cancelled run.
        """
        self._stopping += 1
        rest: list[asyncio.Task[Any]] = [*ways.running.values()]
        if timer is not None:
            rest.append(timer)
        try:
            for task in rest:
                task.cancel()
            await self._all_ended(rest)
        finally:
            self._stopping -= 1
            ways.leave()
        for failure in failures(rest):
            if not gives_way(failure, error, self.cancelled()):
                raise failure

    async def _all_ended(self, tasks: Sequence[asyncio.Task[Any]]) -> None:
        """Wait until tasks that were told to stop have stopped, with their `finally` steps.

        When the run itself is cancelled, they have the time that it has. Who is told to stop
        meanwhile waits all the same.
        """
        stopped: asyncio.CancelledError | None = None
        while not all(task.done() for task in tasks):
            try:
                await workflow.wait(tasks)
            except asyncio.CancelledError as error:
                stopped = error
                if self.cancelled() is not None:
                    await self._cut_off(tasks)
        if stopped is not None:
            raise stopped

    async def _cut_off(self, tasks: Sequence[asyncio.Task[Any]]) -> None:
        """Wait as long as a cancelled run has time, and tell what still runs to stop again."""
        left = begin_to_stop(self) - self.time()
        if left > 0:
            await workflow.wait(tasks, timeout=left)
        for task in tasks:
            task.cancel()


def _update(key: str, value: str | tuple[str, ...]) -> SearchAttributeUpdate[Any]:
    if isinstance(value, str):
        return SearchAttributeKey.for_keyword(key).value_set(value)
    return SearchAttributeKey.for_keyword_list(key).value_set(value)
