"""DurableScope: the effects of a run as Temporal's own. It stays inside the workflow sandbox."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from temporalio import workflow
from temporalio.common import Priority, SearchAttributeKey, SearchAttributeUpdate
from temporalio.exceptions import ActivityError, ApplicationError, CancelledError, TimeoutType
from temporalio.exceptions import TimeoutError as CallTimedOut
from temporalio.workflow import ActivityCancellationType as Cancellation

from activities.contracts import (
    CALL_SKILL,
    HEARTBEAT_TIMEOUT,
    RUN_AGENT,
    WORKER_STOPPED,
    AgentRequest,
    AgentResponse,
    FailureType,
    OwnQueue,
    SkillRequest,
    SkillResult,
    Spent,
)
from dsl.outcomes import Outcome
from dsl.plan import Plan
from workflows.attributes import Attributes, attributes
from workflows.control import amend
from workflows.encoding import encoded
from workflows.notifier import Notifier
from workflows.patches import Patch
from workflows.place import Skipped
from workflows.queues import LONGEST_WAIT, Elsewhere, NotTaken, fairness_key
from workflows.scope import Call, CallFailed, Interrupted, Job, Leaving
from workflows.state import RunState, Telling
from workflows.ways import Ways, interrupted, left_of

MOST_STEPS_AT_ONCE = 500
"""Steps that a run may take without a call before it gives Temporal's thread back."""

_STOPPED = Cancellation.WAIT_CANCELLATION_COMPLETED
"""A skill changes the world: what comes after a cancelled one begins when it has stopped."""

_LONGEST_SUMMARY = 200
_BREATH = timedelta(milliseconds=1)
T = TypeVar("T")


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
        self._calls: dict[str, workflow.ActivityHandle[Any]] = {}
        """`{team/path: the call that it waits for}`."""
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

    async def grouped(self, name: str, work: Coroutine[None, None, Outcome]) -> Outcome:
        """An event group: a few bytes with each call."""
        with workflow.create_event_group(name).scope():
            return await work

    async def run_agent(self, request: AgentRequest, call: Call) -> AgentResponse:
        """One activity `run_agent`, on the workflow's own task queue (eager start).

        Or on the queue of its provider, as soon as a worker has said that there is one.
        """
        queues, sent, detours = self.state.queues, call, 0
        provider = request.persona.provider if request.persona is not None else ""
        while True:
            queue = queues.get(provider) if queues else None
            try:
                return await self._call(RUN_AGENT, request, AgentResponse, sent, queue=queue)
            except Elsewhere as error:
                queues[provider] = error.queue
            except NotTaken:
                queues.pop(provider, None)
            detours += 1
            sent = call._replace(id=f"{call.id}.q{detours}")

    async def call_skill(self, request: SkillRequest, call: Call) -> SkillResult:
        """One activity `call_skill`; a cancelled one is waited for, until it has stopped."""
        answer = await self._call(CALL_SKILL, request, SkillResult, call, _STOPPED)
        if _is_cancelled():  # it had ended before it heard of that
            raise asyncio.CancelledError
        return answer

    async def _call(
        self,
        name: str,
        request: BaseModel,
        result: type[T],
        call: Call,
        cancellation: Cancellation = Cancellation.TRY_CANCEL,
        queue: OwnQueue | None = None,
    ) -> T:
        sendable = encoded(request)
        if isinstance(sendable, str):
            raise CallFailed(FailureType.REQUEST_TOO_LARGE, f"{call.summary}: {sendable}")
        try:
            handle = workflow.start_activity(
                name,
                sendable,
                result_type=result,
                activity_id=call.id,
                summary=call.summary,
                start_to_close_timeout=timedelta(seconds=call.options.timeout),
                heartbeat_timeout=HEARTBEAT_TIMEOUT,
                retry_policy=call.options.retry_policy(),
                cancellation_type=cancellation,
                task_queue=None if queue is None else queue.name,
                schedule_to_start_timeout=None if queue is None else LONGEST_WAIT,
                priority=Priority.default if queue is None else self._turn(queue),
            )
            self._calls[call.step] = handle
            return await handle
        except ActivityError as error:
            if isinstance(error.cause, CancelledError):
                if _is_cancelled():
                    raise asyncio.CancelledError from error
                if call.step in self.state.skips:
                    raise Skipped(self.state.skips.pop(call.step).value) from error
            if _given_back(error) and call.options.effect != "once":
                again = call._replace(id=f"{call.id}.again")
                return await self._call(name, request, result, again, cancellation, queue)
            raise _expected(error, call) from error
        finally:
            self._calls.pop(call.step, None)

    def cut(self, step: str) -> None:
        """End the call that a step waits for, if it does; its outcome is not waited for."""
        handle = self._calls.get(step)
        if handle is not None:
            handle.cancel()

    def _turn(self, queue: OwnQueue) -> Priority:
        """Whoever started the run may have said with whom it takes turns; that counts."""
        if workflow.info().priority.fairness_key:
            return Priority.default
        return Priority(fairness_key=fairness_key(queue, self.run_id, self.state.main.context))

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


def _given_back(error: ActivityError) -> bool:
    """The last attempt was not made to its end: its worker was told to stop, nobody else."""
    cause = error.cause
    return isinstance(cause, ApplicationError) and cause.type == WORKER_STOPPED


def _update(key: str, value: str | tuple[str, ...]) -> SearchAttributeUpdate[Any]:
    if isinstance(value, str):
        return SearchAttributeKey.for_keyword(key).value_set(value)
    return SearchAttributeKey.for_keyword_list(key).value_set(value)


def _expected(error: ActivityError, call: Call) -> BaseException:
    """The failure of a call as an expected one."""
    cause = error.cause
    match cause:
        case ApplicationError() if _given_back(error):
            return CallFailed(
                FailureType.OUTCOME_UNKNOWN,
                f"{call.summary} was cut off with its worker: whether it happened is not known",
            )
        case ApplicationError() if cause.type == FailureType.OWN_QUEUE:
            return Elsewhere(OwnQueue.model_validate(cause.details[0]))
        case ApplicationError():
            return CallFailed(cause.type or "Error", cause.message, _spent(cause.details))
        case CallTimedOut() if cause.type is TimeoutType.SCHEDULE_TO_START:
            return NotTaken()
        case CallTimedOut() if call.options.effect == "once":
            return CallFailed(
                FailureType.OUTCOME_UNKNOWN,
                f"{call.summary} was lost on its way: whether it happened is not known",
                _spent(cause.last_heartbeat_details),
            )
        case CallTimedOut() if cause.type is TimeoutType.HEARTBEAT:
            lost = "its worker was lost before it answered, and no attempt is left"
            return CallFailed("Timeout", f"{call.summary}: {lost}")
        case CallTimedOut():
            seconds = call.options.timeout
            return CallFailed(
                "Timeout", f"{call.summary} did not answer within {seconds:g} s",
                _spent(cause.last_heartbeat_details),
            )  # fmt: skip
        case CancelledError():
            return cause
        case _:
            return error


def _is_cancelled() -> bool:
    """The coroutine that waits was cancelled: with the run, or as what is not needed any more."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _spent(details: Sequence[object]) -> Spent | None:
    """What the attempts of a failed call used, as its failure or its last heartbeat tells it."""
    if not details:
        return None
    try:
        return Spent.model_validate(details[0])
    except ValidationError:
        return None  # another failure, with details of its own
