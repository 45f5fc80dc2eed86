"""The clock of one run on a time-skipping server: what the run waits for, and time skips.

Time never passes by itself. When a run has nothing in progress and only time would resume it, its
clock skips once to the next due moment and stops there. So events scheduled for a moment of a run
happen exactly then, and days cost milliseconds.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Protocol, TypeVar
from uuid import uuid4

from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.api.common.v1 import FastForwardConfig, TimeSkippingConfig, WorkflowExecution
from temporalio.api.enums.v1 import EventType, PendingActivityState, WorkflowExecutionStatus
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflow.v1 import PendingActivityInfo, WorkflowExecutionOptions
from temporalio.api.workflowservice.v1 import (
    DescribeWorkflowExecutionRequest,
    DescribeWorkflowExecutionResponse,
    UpdateWorkflowExecutionOptionsRequest,
)
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

T = TypeVar("T")

_ENOUGH_FAILURES = 4
"""Failures of the interpreter on the same task before they are reported."""


_NOT_WORTH_IT = timedelta(milliseconds=50)
"""Shorter waits pass by themselves instead of being skipped."""

_ROUND_TRIPS = 5
"""Minimum length of a skip, as a multiple of the server's slowest answer. If the run continues by
itself before the server receives the skip, the server may find its moment passed when the run is
idle again, and then skips to the next timer, days ahead."""

_FADES = 0.9
"""Decay of the slowest answer's time with each further answer."""

_TOO_FAR = timedelta(minutes=1)
"""More than the machine's slowness adds to a run's clock."""

_CLOCKS_END = datetime(2250, 1, 1, tzinfo=UTC)
"""The server counts nanoseconds from 1970 in 64 bits, so its timers end in 2262."""


class HistoryOfRun(Protocol):
    """Fetches the events of a run."""

    def fetch_history_events(self) -> AsyncIterator[HistoryEvent]:
        """Return all events, oldest first."""
        ...


class Broken(Exception):
    """The run makes no progress, for a reason outside any team."""


class Overshot(Broken):
    """The clock was skipped further than requested, so the rest of the run is meaningless."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What a run waits for."""

    now: datetime
    """On the run's own clock."""
    events: int
    """Length of its history: while it is unchanged, so is the run."""
    ended: bool = False
    busy: bool = False
    """Something is in progress, so check again soon."""
    held: bool = False
    """Calls wait for a worker."""
    wake: datetime | None = None
    """When time resumes the run: its next timer, or the next attempt of a call."""


class Clock:
    """Watches one run, and skips its time."""

    def __init__(self, client: Client, run: str) -> None:
        self._client = client
        self._run = run
        self._asked = datetime.min.replace(tzinfo=UTC)
        """The latest moment to which the clock was requested to skip."""
        self._slowest = timedelta()
        """Time of the slowest of the server's latest answers."""
        self._seen = ("", SeenEvents(0))
        """The part of the run whose history was read last, and what it said."""

    async def look(self) -> Sight:
        """Return what the run waits for.

        Raises:
            Broken: The interpreter fails on it repeatedly.
            Overshot: The clock went further than requested.
        """
        described = await self._describe_run()
        if described.pending_workflow_task.attempt >= _ENOUGH_FAILURES:
            raise Broken(await self._why())
        sight = described_sight(described)
        if sight.busy:
            return sight
        history = await self._events(
            described.workflow_execution_info.execution.run_id, sight.events
        )
        if history.skipped_to is not None and history.skipped_to > self._asked + _TOO_FAR:
            raise Overshot(
                f"the server skipped the run's clock to {history.skipped_to}, not to {self._asked}"
            )
        return sight if sight.ended else with_timers(sight, history)

    async def _events(self, part: str, count: int) -> "SeenEvents":
        """Read the history of this part of the run, unless it is as long as when it was read."""
        previous_part, history = self._seen
        if (previous_part, history.count) != (part, count):
            events = self._history_of_run().fetch_history_events()
            history = read_events([event async for event in events])
            self._seen = part, history
        return history

    async def skip_to(self, moment: datetime, sight: Sight) -> None:
        """Skip the clock of an idle run to a later moment, so that everything due by then happens.

        Return early if the run continues before that.

        Args:
            moment: On the run's own clock.
            sight: The latest.

        Raises:
            Broken: No clock of a test reaches it.
            Overshot: The clock went further.
        """
        if moment > _CLOCKS_END:
            raise Broken(
                f"the run waits until {moment:%Y-%m-%d}, and the clock of a test ends in "
                f"{_CLOCKS_END:%Y}; start the case at a shorter wait, or end the wait by a message"
            )
        self._asked = max(self._asked, moment)
        ahead = moment - sight.now
        if ahead > max(_NOT_WORTH_IT, _ROUND_TRIPS * self._slowest):
            await self._forward(ahead)
            return
        while not sight.ended and sight.now < moment:
            await asyncio.sleep((moment - sight.now).total_seconds())
            sight = await self.look()

    async def _forward(self, ahead: timedelta) -> None:
        """Let the server advance the clock once, by at most this much.

        It does so at once if the run is idle. Otherwise no request may remain for later.
        """
        forward = FastForwardConfig(id=str(uuid4()))
        forward.duration.FromTimedelta(ahead)
        once = TimeSkippingConfig(
            enabled=True, fast_forward_config=forward, max_session_skip_count=1
        )
        try:
            await self._skip(once)
            described = (await self._describe_run()).workflow_extended_info.time_skipping_info
            if described.effective_config.enabled:
                await self._skip(TimeSkippingConfig(enabled=False))
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:  # the run has ended meanwhile
                raise

    async def _skip(self, skipping: TimeSkippingConfig) -> None:
        await self._time_answer(
            self._client.workflow_service.update_workflow_execution_options(
                UpdateWorkflowExecutionOptionsRequest(
                    namespace=self._client.namespace,
                    workflow_execution=WorkflowExecution(workflow_id=self._run),
                    workflow_execution_options=WorkflowExecutionOptions(
                        time_skipping_config=skipping
                    ),
                    update_mask=FieldMask(paths=["time_skipping_config"]),
                )
            )
        )

    async def _describe_run(self) -> DescribeWorkflowExecutionResponse:
        return await self._time_answer(
            self._client.workflow_service.describe_workflow_execution(
                DescribeWorkflowExecutionRequest(
                    namespace=self._client.namespace,
                    execution=WorkflowExecution(workflow_id=self._run),
                )
            )
        )

    async def _time_answer(self, answer: Awaitable[T]) -> T:
        """Await an answer of the server, and measure how busy the machine is."""
        start = monotonic()
        try:
            return await answer
        finally:
            self._slowest = max(_FADES * self._slowest, timedelta(seconds=monotonic() - start))

    def _history_of_run(self) -> HistoryOfRun:
        return self._client.get_workflow_handle(self._run)

    async def _why(self) -> str:
        last = ""
        async for event in self._history_of_run().fetch_history_events():
            if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED:
                last = event.workflow_task_failed_event_attributes.failure.message
        return f"the interpreter itself fails repeatedly: {last or 'for an unknown reason'}"


def described_sight(described: DescribeWorkflowExecutionResponse) -> Sight:
    """Return what a run waits for, apart from its timers, which no description lists."""
    info = described.workflow_execution_info
    now, events = _now(described), info.history_length
    if info.status != WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_RUNNING:
        return Sight(now, events, ended=True)
    calls = [_Call.of(pending, now) for pending in described.pending_activities]
    if described.HasField("pending_workflow_task") or any(call.busy for call in calls):
        return Sight(now, events, busy=True)
    wakes = [call.wake for call in calls if call.wake is not None]
    held = any(call.held for call in calls)
    return Sight(now, events, held=held, wake=min(wakes, default=None))


@dataclass(frozen=True, slots=True)
class SeenEvents:
    """What the history of a run says of its clock."""

    count: int
    timers: tuple[datetime, ...] = ()
    """When each open timer fires."""
    skipped_to: datetime | None = None
    """The latest moment to which the server skipped."""


def read_events(events: Sequence[HistoryEvent]) -> SeenEvents:
    """Return the open timers and the skips of a history."""
    timers: dict[str, datetime] = {}
    skips: list[datetime] = []
    for event in events:
        match event.event_type:
            case EventType.EVENT_TYPE_TIMER_STARTED:
                started = event.timer_started_event_attributes
                length = started.start_to_fire_timeout.ToTimedelta()
                timers[started.timer_id] = _moment(event.event_time) + length
            case EventType.EVENT_TYPE_TIMER_FIRED:
                timers.pop(event.timer_fired_event_attributes.timer_id, None)
            case EventType.EVENT_TYPE_TIMER_CANCELED:
                timers.pop(event.timer_canceled_event_attributes.timer_id, None)
            case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIME_SKIPPING_TRANSITIONED:
                skip = event.workflow_execution_time_skipping_transitioned_event_attributes
                skips.append(_moment(skip.target_time))
            case _:
                pass
    return SeenEvents(len(events), tuple(timers.values()), max(skips, default=None))


def with_timers(sight: Sight, seen: SeenEvents) -> Sight:
    """Return the sight of an idle run with its timers; busy if it continued, or is about to."""
    wakes = seen.timers if sight.wake is None else (*seen.timers, sight.wake)
    if seen.count != sight.events or any(wake <= sight.now for wake in wakes):
        return Sight(sight.now, sight.events, busy=True)
    return replace(sight, wake=min(wakes, default=None))


@dataclass(frozen=True, slots=True)
class _Call:
    busy: bool = False
    held: bool = False
    wake: datetime | None = None

    @classmethod
    def of(cls, pending: PendingActivityInfo, now: datetime) -> "_Call":
        if pending.state != PendingActivityState.PENDING_ACTIVITY_STATE_SCHEDULED:
            return cls(busy=True)
        if pending.HasField("next_attempt_schedule_time"):
            again = _moment(pending.next_attempt_schedule_time)
            if again > now:
                return cls(wake=again)
        return cls(held=True)


def _now(described: DescribeWorkflowExecutionResponse) -> datetime:
    extended = described.workflow_extended_info
    if extended.HasField("time_skipping_info"):
        return _moment(extended.time_skipping_info.current_time)
    return datetime.now(UTC)  # no time was skipped yet: the machine's clock is the run's


def _moment(stamp: Timestamp) -> datetime:
    return stamp.ToDatetime(tzinfo=UTC)
