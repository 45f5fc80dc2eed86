"""DurableScope: the effects of a run as Temporal's own. It stays inside the workflow sandbox."""

import asyncio
from collections.abc import Callable, Coroutine, Generator, Iterable, Mapping, Set
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import Any

from temporalio import workflow
from temporalio.common import SearchAttributeKey, SearchAttributeUpdate

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
)
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Plan
from coterie.workflows.control.cancellation import begin_to_stop
from coterie.workflows.control.pause_and_amend import amend
from coterie.workflows.core.activation import MESSAGES_FOLLOW
from coterie.workflows.core.scope import Call, Interrupted, Jobs, Leaving, TemporalRequest
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_parts import PendingNotification
from coterie.workflows.handlers.board import state_of
from coterie.workflows.sessions.message_queue import holds_history
from coterie.workflows.temporal.activity_calls import Calls, Notifier
from coterie.workflows.temporal.attribute_kinds import PLAN, STATE, TEAM, WAITING
from coterie.workflows.temporal.branches import (
    Branches,
    BranchRunner,
    stop_if_abandoned,
    take_abandonment,
)
from coterie.workflows.temporal.pacer import Pacer


async def condition(holds: Callable[[], bool], limit: timedelta | None, summary: str) -> None:
    """Wait until the condition holds, unless the waiting coroutine is cancelled.

    A cancellation that arrives after the condition became true counts: a loser would wait again.

    Raises:
        TimeoutError: the time is up.
        CancelledError: the coroutine was cancelled meanwhile.
    """
    task = asyncio.current_task()
    before = 0 if task is None else task.cancelling()  # not 0 in the `finally` steps of a loser
    waiting = workflow.wait_condition(holds, timeout_summary=summary)
    await (waiting if limit is None else within(waiting, limit.total_seconds()))
    if task is not None and task.cancelling() > before:
        raise asyncio.CancelledError


async def within(waiting: Coroutine[Any, Any, None], seconds: float) -> None:
    """Wait for a condition as `asyncio.wait_for` of Python 3.11 does, on every Python.

    The SDK calls the interpreter's own. That of Python 3.12 rounds the timer, and ends a cancelled
    wait some passes of the event loop earlier, so that a history would fit one of both only. Here
    the SDK's coroutine runs up to its future, and continues when that is done or the time is up.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = waiting.send(None)
    future._asyncio_future_blocking = False  # nothing awaits it now
    released = loop.create_future()
    release = partial(_release, released)
    timer = loop.call_later(seconds, release) if seconds > 0 else None
    try:
        if timer is not None:
            future.add_done_callback(release)
            await released
    except asyncio.CancelledError:
        if not future.done():
            future.remove_done_callback(release)
            await _cancel(future)
            waiting.close()
            raise
    else:
        if not future.done():
            future.remove_done_callback(release)
            await _cancel(future)
    finally:
        if timer is not None:
            timer.cancel()
    with suppress(StopIteration):
        if future.cancelled():
            waiting.throw(TimeoutError())
        waiting.send(None)


async def _cancel(future: asyncio.Future[None]) -> None:
    """Cancel a future, and let its callbacks run."""
    released = asyncio.get_running_loop().create_future()
    future.add_done_callback(partial(_release, released))
    future.cancel()
    await released


def _release(released: asyncio.Future[None], *_: object) -> None:
    if not released.done():
        released.set_result(None)


def never() -> bool:
    """Return False: what ends a wait that nothing else ends."""
    return False


_MAX_VALUE_LENGTH = 100
"""Characters of a value: databases keep 255 bytes of a keyword."""
_MAX_VALUES = 10
"""Maximum values of a list: a server accepts two kilobytes."""

Attributes = dict[str, str | tuple[str, ...]]


def attributes(plan: Plan, state: RunState, *, done: bool) -> Attributes:
    """Return where the run is: its plan, its state, its teams, the requests that wait."""
    teams = (track.team for track in state.tracks.values() if track.team is not None)
    return {
        PLAN: plan.name[:_MAX_VALUE_LENGTH],
        STATE: state_of(state, done=done),
        TEAM: _few(teams),
        WAITING: _few(state.pending),
    }


def _few(values: Iterable[str]) -> tuple[str, ...]:
    few: dict[str, None] = {}
    for value in values:
        few[value[:_MAX_VALUE_LENGTH]] = None
        if len(few) == _MAX_VALUES:
            break
    return tuple(few)


OVERDUE_EVENTS = 8_192
"""Events of a history that a run leaves even if calls run, without a step of another branch: twice
as many as those after which Temporal suggests it."""

OVERDUE_BYTES = 8_000_000
"""Bytes of such a history."""

_MAX_SUMMARY_LENGTH = 200
_MAX_NAMED = 20


class DurableScope:
    """The Scope of a workflow: its effects are events of Temporal's history."""

    in_flight = 0
    leaving: Leaving | None = None

    def __init__(self, plan: Plan, state: RunState) -> None:
        self.plan = plan
        self.state = state
        self._info = workflow.info()  # each look-up of the current run is a system call
        self.run_id = self._info.workflow_id
        state.execution = state.execution or self._info.original_execution_run_id
        self.done = False
        self._upserted: Attributes = {}
        self._held = 0
        self._unbreakable = 0
        self._pacer = Pacer()
        self.work = self._pacer.pace.evaluations
        self._runner = BranchRunner(
            Branches(plan.limits.max_concurrent_branches), self._pacer, self._time_to_stop
        )
        self._calls = Calls(state, self.run_id, self._pacer)
        self.notifier = Notifier(state, self._pacer)
        self._clock = asyncio.get_running_loop().time  # Temporal's, accessed by the shortest path

    def now(self) -> datetime:
        """Return Temporal's time of the current workflow task."""
        return workflow.now()

    def time(self) -> float:
        """Return that time in seconds of Unix time; cheaper where only a difference matters."""
        return self._clock()

    def cancelled(self) -> str | None:
        """Return the reason of the request to cancel, as Temporal keeps it."""
        return workflow.cancellation_reason()

    async def checkpoint(self) -> None:
        """Wait while paused, and stop when the run must continue as new."""
        stop_if_abandoned()
        state = self.state
        await self._pacer.step()
        if state.paused is not None:
            self.mark()
            await workflow.wait_condition(lambda: state.paused is None or self._ending())
            self._pacer.pace.woken()
            if self._ending():
                raise Interrupted
        if state.amendments:
            amend(state, self.now(), self.plan.context)
        self.mark()
        if self._ending():
            raise Interrupted

    def _ending(self) -> bool:
        """Return whether the run must continue as new: not while it stops, or stops a branch.

        The `finally` steps of a stopped branch belong to what the run leaves. And while calls run,
        the run stays in a history that is short enough: they may take hours, in which no other
        branch could begin a step.
        """
        if not self.continues_soon() or self._runner.is_stopping:
            return False
        info = self._info
        events, size = info.get_current_history_length(), info.get_current_history_size()
        if self._unbreakable and events <= OVERDUE_EVENTS and size <= OVERDUE_BYTES:
            return False
        return not holds_history(self.state.session, events, size)

    def continues_soon(self) -> bool:
        """Whether the run continues as new as soon as no message waits for its reply."""
        info = self._info
        return (
            info.is_continue_as_new_suggested()
            and info.get_current_history_length() >= self._held
            and workflow.cancellation_reason() is None
        )

    def weigh(self, steps: int) -> None:
        """Count steps, so that the run yields earlier."""
        self._pacer.pace.steps += steps

    async def rest(self) -> None:
        """Yield if evaluations have used up their share of the workflow task."""
        await self._pacer.rest()

    async def settle(self) -> None:
        """Let everything else come first: conditions are checked when nothing is left to run."""
        await self._pacer.settle()

    def hold(self, events: int) -> None:
        """Do not continue as new before the history has this many events."""
        self._held = events

    def mark(self) -> None:
        """Refresh the search attributes, if the run has them."""
        visibility = self.state.visibility
        if visibility is not None and visibility.search_attributes:
            self._upsert()

    def _upsert(self) -> None:
        """Write one event when something is new: at a new team, at a wait, at the end."""
        current = attributes(self.plan, self.state, done=self.done)
        new = {key: value for key, value in current.items() if self._upserted.get(key, ()) != value}
        if new:
            self._upserted = current
            updates = [_update(key, value) for key, value in new.items()]
            workflow.upsert_search_attributes(updates)  # pyright: ignore[reportUnknownMemberType]

    async def run_agent(self, request: AgentRequest, call: Call) -> AgentResponse:
        """Run one activity `run_agent`."""
        stop_if_abandoned()
        with self._not_broken_off():
            return await self._calls.run_agent(request, call)

    async def call_function(self, request: FunctionRequest, call: Call) -> FunctionResult:
        """Run one activity `call_function`."""
        stop_if_abandoned()
        with self._not_broken_off():
            return await self._calls.call_function(request, call)

    async def call_on_temporal(self, request: TemporalRequest, call: Call) -> FunctionResult:
        """Call what already runs on Temporal, as a command of the run itself."""
        stop_if_abandoned()
        with self._not_broken_off():
            return await self._calls.call_on_temporal(request, call)

    @contextmanager
    def _not_broken_off(self) -> Generator[None]:
        """Do something that ends before the run continues as new: a call, or a wait in it."""
        self._unbreakable += 1
        try:
            yield
        finally:
            self._unbreakable -= 1

    def cut(self, step: str) -> None:
        """End the call that a step waits for, if any, without waiting for its outcome."""
        self._calls.cut(step)

    async def grouped(self, name: str, work: Coroutine[None, None, Outcome]) -> Outcome:
        """Group the events of the work: a few bytes with each call."""
        with workflow.create_event_group(name).scope():
            return await work

    def notify(self, notification: PendingNotification) -> None:
        """Start one activity `notify`; the run does not wait for it."""
        self.notifier.notify(notification)

    async def wait_until(
        self,
        ready: Callable[[], bool],
        seconds: float | None,
        summary: str,
        *,
        boundary: bool = True,
        stands_still: bool = True,
    ) -> bool:
        """Wait until the condition holds; a timer runs only if there is a deadline."""
        stop_if_abandoned()
        if boundary:
            return await self._wait(ready, seconds, summary, self._may_break_off, stands_still)
        with self._not_broken_off():
            return await self._wait(ready, seconds, summary, never, stands_still)

    def _may_break_off(self) -> bool:
        """Return whether a wait stops for the run to continue as new: not before all calls ended.

        Until then a time limit holds, and a race can be decided.
        """
        return not self._unbreakable and self._ending()

    async def _wait(
        self,
        ready: Callable[[], bool],
        seconds: float | None,
        summary: str,
        ending: Callable[[], bool],
        stands_still: bool,
    ) -> bool:
        """Wait until the condition holds, the time is up, or the wait has to end before.

        Raises:
            Interrupted: it has to end before; with the seconds that are left.
        """
        state = self.state
        remaining = seconds

        def has_unhandled_end() -> bool:
            return ready() or ending() or (seconds is not None and state.paused is not None)

        while True:
            self.mark()
            if ending() and not ready():
                raise Interrupted(remaining)
            began = workflow.time()
            limit = None if remaining is None else timedelta(seconds=max(remaining, 0))
            try:
                await condition(has_unhandled_end, limit, summary)
            except TimeoutError:
                return ready()  # one workflow task may bring both
            self._pacer.pace.woken()
            if ready():
                return True
            halted = workflow.time()
            await workflow.wait_condition(lambda: ready() or state.paused is None or ending())
            if remaining is not None:
                remaining -= (halted if stands_still else workflow.time()) - began

    async def messages_delivered(self) -> None:
        """Let a message come first that is in one activation with a timer.

        A condition reads the flag: a task keeps the value of the activation that created it.
        """
        await workflow.wait_condition(lambda: not MESSAGES_FOLLOW.get())

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
        """Run coroutines concurrently in this workflow; they add no events of their own."""
        named = jobs if isinstance(jobs, Mapping) else jobs.begun
        if take_abandonment():
            await self._runner.abandon([named[name] for name in sorted(begun)])
        if seconds is None:
            return await self._runner.run(jobs, enough, at_once, None, wake, begun)
        what = f"time limit of {', '.join(islice(named, _MAX_NAMED))}"[:_MAX_SUMMARY_LENGTH]

        def limit(have_stopped: Callable[[], bool]) -> Coroutine[None, None, bool]:
            return self._wait(never, seconds, what, have_stopped, stands_still=True)

        return await self._runner.run(jobs, enough, at_once, limit, wake, begun)

    def _time_to_stop(self) -> float:
        """Return the seconds that a cancelled run has left."""
        return begin_to_stop(self) - self.time()


def _update(key: str, value: str | tuple[str, ...]) -> SearchAttributeUpdate[Any]:
    if isinstance(value, str):
        return SearchAttributeKey.for_keyword(key).value_set(value)
    return SearchAttributeKey.for_keyword_list(key).value_set(value)
