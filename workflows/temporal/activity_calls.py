"""Calls: model turns, tool functions and notifications as activities of Temporal.

A notification never delays a decision and never fails a run. Failed deliveries appear in the trail.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol, TypeVar

from pydantic import BaseModel
from temporalio import workflow
from temporalio.common import Priority, RawValue, RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, CancelledError, FailureError
from temporalio.workflow import ActivityCancellationType as Cancellation

from coterie.activities.contracts import (
    CALL_FUNCTION,
    HEARTBEAT_TIMEOUT,
    NOTIFY,
    RUN_AGENT,
    AgentRequest,
    AgentResponse,
    CallOptions,
    FailureType,
    FunctionRequest,
    FunctionResult,
    OwnQueue,
    Spent,
    id_after_detour,
    id_after_loss,
    id_of_unwanted,
)
from coterie.dsl.model.tools.asked_input import AskedInput, GivenInput, ServerTask
from coterie.workflows.core.encoding import encoded
from coterie.workflows.core.location import Skipped
from coterie.workflows.core.scope import Call, CallFailed, NeverCalled, TemporalRequest
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_parts import PendingNotification
from coterie.workflows.core.trail import note_undelivered
from coterie.workflows.core.usage import together
from coterie.workflows.temporal.call_failures import (
    MAX_WAIT,
    Elsewhere,
    NotTaken,
    cause_of,
    expected_failure,
    fairness_key,
    given_back,
    is_not_local,
    spent_of,
)
from coterie.workflows.temporal.foreign_answers import failure_of, result_of
from coterie.workflows.temporal.foreign_calls import ForeignCall
from coterie.workflows.temporal.pacer import Pacer

_ATTEMPTS = 5
_ATTEMPT = timedelta(seconds=60)
_WITHIN = timedelta(minutes=3)
"""Maximum time for a notification with all its attempts; then the run gives up."""


@dataclass(eq=False)
class Notifier:
    """The notifications of one run."""

    _state: RunState
    _pacer: Pacer
    _tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]], init=False)
    """Kept, so that Python does not collect them."""
    _closing: bool = field(default=False, init=False)

    def notify(self, notification: PendingNotification) -> None:
        """Send a notification without waiting for it."""
        self._state.notifications[notification.message.id] = notification
        self._tasks.add(asyncio.create_task(self._deliver(notification)))

    def notify_again(self) -> None:
        """Send again what is in delivery; receivers know its id."""
        for notification in list(self._state.notifications.values()):
            self.notify(notification)

    async def all_reported(self) -> None:
        """Wait at the run's end for open deliveries; what a pause held back is not sent."""
        self._closing = True
        if self._state.notifications:
            await workflow.wait_condition(lambda: not self._state.notifications)

    async def _deliver(self, notification: PendingNotification) -> None:
        state = self._state
        if state.paused is not None:
            await workflow.wait_condition(lambda: state.paused is None or self._closing)
        if notification.message.push is not None:
            await workflow.wait_condition(lambda: not self._states(notification, -1))
        is_outdated = bool(self._states(notification, 1))
        if state.paused is None and not is_outdated:
            problem = await self._send_notification(notification)
            if problem is not None:
                note_undelivered(state, workflow.time(), notification, problem)
        state.notifications.pop(notification.message.id, None)

    def _states(self, notification: PendingNotification, direction: int) -> list[int]:
        """Return the numbers of earlier (-1) or later (1) states on their way to a receiver.

        A receiver gets states in their order, and none that a later one has replaced meanwhile.
        """
        message = notification.message
        if message.push is None:
            return []
        return [
            other.message.number
            for other in self._state.notifications.values()
            if other.message.push is not None
            and other.message.channel == message.channel
            and (other.message.number - message.number) * direction > 0
        ]

    async def _send_notification(self, notification: PendingNotification) -> str | None:
        """Send a notification; return why it failed, or None."""
        message = notification.message
        await self._pacer.call(len(message.model_dump_json()))
        try:
            await workflow.execute_activity(
                NOTIFY,
                message,
                activity_id=notification.id,
                summary=f"{message.channel}: {message.what} of {message.request}",
                start_to_close_timeout=_ATTEMPT,
                schedule_to_close_timeout=_WITHIN,
                heartbeat_timeout=HEARTBEAT_TIMEOUT,
                retry_policy=RetryPolicy(
                    maximum_attempts=_ATTEMPTS, non_retryable_error_types=["PayloadsTooLarge"]
                ),
            )
        except ActivityError as error:
            cause = error.cause
            return cause.message if isinstance(cause, ApplicationError) else "it was lost"
        finally:
            self._pacer.called()
        return None


_STOPPED = Cancellation.WAIT_CANCELLATION_COMPLETED
"""A function changes the world, so the next step waits until a cancelled function has stopped."""

_ONE_ATTEMPT = RetryPolicy(maximum_attempts=1)

_GIVE_UP = CallOptions(timeout=10, retries=0)

MAX_LOCAL_CALLS = 8
"""Local activities in a row; the next call is an activity. A crash repeats those that are not yet
recorded, messages wait for them, and all of them are recorded in one completion. Another number is
another history."""

T = TypeVar("T", AgentResponse, FunctionResult)
Answer = TypeVar("Answer")


class CancelledEarly(asyncio.CancelledError, NeverCalled):
    """A call was cancelled before it began."""


class _Waiting(Protocol):
    """What a step waits for."""

    def cancel(self) -> bool:
        """Ask it to end."""
        ...


@dataclass(eq=False)
class Calls:
    """Make the calls of one run: one activity each, without additional events."""

    _state: RunState
    _run_id: str
    _pacer: Pacer
    _waiting: dict[str, _Waiting] = field(default_factory=dict[str, _Waiting], init=False)
    """`{team/path: the call that it waits for}`."""
    _local: int = field(default=0, init=False)
    """Local activities since the last workflow task that an activity has ended."""

    async def run_agent(self, request: AgentRequest, call: Call) -> AgentResponse:
        """Run one activity `run_agent`, on the workflow's own task queue (eager start).

        Or on the queue of its provider, as soon as a worker has reported that queue.
        """
        if self._state.origins:
            request = request.model_copy(update={"origins": tuple(self._state.origins)})
        queues, current_call, detours = self._state.queues, call, 0
        provider = request.provider_name
        while True:
            queue = queues.get(provider) if queues else None
            try:
                return await self._call(
                    RUN_AGENT, request, AgentResponse, current_call, queue=queue
                )
            except Elsewhere as error:
                queues[provider] = error.queue
            except NotTaken:
                queues.pop(provider, None)
            detours += 1
            current_call = call._replace(id=id_after_detour(call.id, detours))

    async def call_function(self, request: FunctionRequest, call: Call) -> FunctionResult:
        """Run one activity `call_function`; if it is cancelled, wait until it has stopped."""
        answer = None
        if call.options.local_timeout is not None and self._local < MAX_LOCAL_CALLS:
            answer = await self._call_locally(request, call, call.options.local_timeout)
        if answer is None:
            answer = await self._function_activity(request, call)
        if _is_cancelled():  # it had ended before the request reached it
            raise asyncio.CancelledError
        return answer

    async def call_on_temporal(self, request: TemporalRequest, call: Call) -> FunctionResult:
        """Make one call of what already runs on Temporal."""
        ready = ForeignCall.of(request, call, self._run_id)
        try:
            await self._pacer.call(ready.size)
        except asyncio.CancelledError:
            raise CancelledEarly from None
        began = workflow.time()
        making = asyncio.create_task(ready.make())
        self._waiting[call.step] = making
        self._state.calls_in_progress[call.id] = call.step
        try:
            answer = await _to_the_end(making)
        except FailureError as error:
            unwanted = self._reason_to_drop(call)
            if isinstance(unwanted, Skipped):
                del self._state.skips[call.step]
            raise (unwanted or failure_of(error, request, call)) from error
        except asyncio.CancelledError:
            unwanted = self._reason_to_drop(call)
            if not isinstance(unwanted, Skipped):
                raise
            del self._state.skips[call.step]
            raise unwanted from None
        finally:
            self._waiting.pop(call.step, None)
            self._state.calls_in_progress.pop(call.id, None)
            self._local = 0
            self._pacer.called()
        if _is_cancelled():  # it had ended before the request reached it
            raise asyncio.CancelledError
        seconds = round(workflow.time() - began, 3)
        data = answer if isinstance(answer, dict) else result_of(answer, request, call)
        return FunctionResult(data=data, seconds=seconds)

    async def _function_activity(self, request: FunctionRequest, call: Call) -> FunctionResult:
        """Run one activity `call_function`; if nobody wants it any more, it ends instead of asking.

        The SDK hands out what an activity ends with, also if a request to cancel it came first.
        """
        try:
            return await self._call(CALL_FUNCTION, request, FunctionResult, call, _STOPPED)
        except CallFailed as failed:
            if failed.asked is None:
                raise
            unwanted = self._reason_to_drop(call)
            if unwanted is None:
                raise
            self._state.skips.pop(call.step, None)
            if failed.asked.task is not None:
                await self._give_up(request, failed.asked.task, call)
            raise unwanted from None

    async def _give_up(self, request: FunctionRequest, task: ServerTask, call: Call) -> None:
        """End the task of a call; one that does not answer ends by itself."""
        question = AskedInput(task=task.model_copy(update={"unwanted": True}))
        ending = request.model_copy(
            update={"given_input": GivenInput(asked=question), "keep": False}
        )
        with suppress(CallFailed):
            named = call._replace(id=id_of_unwanted(call.id), options=_GIVE_UP)
            await self._call(CALL_FUNCTION, ending, FunctionResult, named)

    def _reason_to_drop(self, call: Call) -> BaseException | None:
        """Return why nobody waits for a call any more; None if somebody does."""
        if _is_cancelled():
            return asyncio.CancelledError()
        skipped = self._state.skips.get(call.step)
        return None if skipped is None else Skipped(skipped.value)

    async def _call_locally(
        self, request: FunctionRequest, call: Call, seconds: float
    ) -> FunctionResult | None:
        """Run one local activity `call_function`; None if the worker wants an activity instead."""
        sendable = _sendable(request, call)
        self._local += 1
        self._pacer.pace.unused = False
        call = call._replace(options=call.options._replace(timeout=seconds))
        try:
            handle = workflow.start_local_activity(
                CALL_FUNCTION,
                sendable,
                result_type=FunctionResult,
                activity_id=call.id,
                summary=call.summary,
                start_to_close_timeout=timedelta(seconds=seconds),
                retry_policy=_ONE_ATTEMPT,
                cancellation_type=_STOPPED,
            )
            self._waiting[call.step] = handle
            return await handle
        except FailureError as error:
            if is_not_local(error) or given_back(error) is not None:
                return None
            raise self._reason_for_stop(error, call) from error
        finally:
            self._waiting.pop(call.step, None)

    async def _call(
        self,
        name: str,
        request: BaseModel,
        result: type[T],
        call: Call,
        cancellation: Cancellation = Cancellation.TRY_CANCEL,
        queue: OwnQueue | None = None,
    ) -> T:
        """Run one activity; one that its worker gave back is repeated if that is safe."""
        sendable = _sendable(request, call)
        try:
            await self._pacer.call(len(sendable.payload.data))
        except asyncio.CancelledError:
            raise CancelledEarly from None
        try:
            handle = workflow.start_activity(
                name,
                sendable,
                result_type=result,
                activity_id=call.id,
                summary=call.summary,
                start_to_close_timeout=call.options.start_to_close,
                heartbeat_timeout=HEARTBEAT_TIMEOUT,
                retry_policy=call.options.retry_policy(),
                cancellation_type=cancellation,
                task_queue=None if queue is None else queue.name,
                schedule_to_start_timeout=None if queue is None else MAX_WAIT,
                priority=Priority.default if queue is None else self._turn(queue),
            )
            self._waiting[call.step] = handle
            self._state.calls_in_progress[call.id] = call.step
            return await self._await_answer(handle)
        except ActivityError as error:
            interrupted = given_back(error)
            cut = None if interrupted is None else spent_of(interrupted.details)
            acted = cut is not None and any(
                inner_call.effect == "once" for inner_call in cut.inner_calls
            )
            if interrupted is not None and call.options.effect != "once" and not acted:
                again = call._replace(id=id_after_loss(call.id))
                calling = self._call(name, request, result, again, cancellation, queue)
                return await (calling if cut is None else _with(cut, calling))
            raise self._reason_for_stop(error, call) from error
        finally:
            self._waiting.pop(call.step, None)
            self._state.calls_in_progress.pop(call.id, None)

    def _reason_for_stop(self, error: FailureError, call: Call) -> BaseException:
        """Return why a call has no answer: it was cancelled or skipped, or it failed."""
        if isinstance(cause_of(error), CancelledError):
            unwanted = self._reason_to_drop(call)
            if isinstance(unwanted, Skipped):
                del self._state.skips[call.step]
            if unwanted is not None:
                return unwanted
        return expected_failure(error, call)

    async def _await_answer(self, handle: workflow.ActivityHandle[T]) -> T:
        """Return what the call answers, counted as pending until then."""
        try:
            return await handle
        finally:
            self._local = 0  # what ends an activity also ended the workflow task before
            self._pacer.called()

    def cut(self, step: str) -> None:
        """End the call that a step waits for, if any, without waiting for its outcome."""
        handle = self._waiting.get(step)
        if handle is not None:
            handle.cancel()

    def _turn(self, queue: OwnQueue) -> Priority:
        """Return the fairness key of the call; a key given at the run's start wins."""
        if workflow.info().priority.fairness_key:
            return Priority.default
        return Priority(fairness_key=fairness_key(queue, self._run_id, self._state.main.context))


def _sendable(request: BaseModel, call: Call) -> RawValue:
    """Return a request as it is sent. Raises CallFailed for one that is too large."""
    match encoded(request):
        case str() as problem:
            raise CallFailed(FailureType.REQUEST_TOO_LARGE, f"{call.summary}: {problem}")
        case sendable:
            return sendable


async def _with(cut: Spent, calling: Coroutine[None, None, T]) -> T:
    """Repeat a call, and add the usage of the interrupted attempt."""
    try:
        answer = await calling
    except CallFailed as error:
        error.spent = together(cut, error.spent or Spent())
        raise
    return together(cut, answer)


async def _to_the_end(making: "asyncio.Task[Answer]") -> Answer:
    """Wait for a call on Temporal; one that is cancelled as it begins is cancelled once it has.

    The SDK forgets a Nexus operation that is cancelled in the activation that tells its start: the
    run would end before the server has passed the cancellation on.
    """
    try:
        await workflow.wait_condition(making.done)
    except asyncio.CancelledError:
        if not making.done():
            await workflow.wait_condition(lambda: True)  # everything else has run by then
            making.cancel()
    return await making


def _is_cancelled() -> bool:
    """Return whether the waiting coroutine is cancelled: with the run, or after a join."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
