"""What the histories of a run say to a caller: the outputs of its steps, its replies, its end.

A history is read once, from its newest end, and then only what is new in it. All of it can be read
again, so a gateway that starts anew shows the same.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pydantic import JsonValue
from temporalio.service import RPCError, RPCStatusCode

from coterie.activities.contracts import AgentRequest, AgentResponse, FunctionResult
from coterie.dsl.sizes import json_size
from coterie.gateway.streams.history_pages import HistoryPages
from coterie.gateway.streams.lineage import LineagePart
from coterie.runs.call_errors import call_error
from coterie.runs.histories.recorded_calls import RecordedCall, calls_by_event
from coterie.runs.histories.recorded_events import (
    CallEnded,
    CallScheduled,
    RecordedEvent,
    RunClosed,
    UpdateAccepted,
    UpdateCompleted,
)
from coterie.workflows.core.messages import SEND_MESSAGE
from coterie.workflows.core.requests import NOT_YET

_MAX_KEPT = 32
"""Runs whose outputs stay in memory."""
_MAX_OUTPUTS = 1_000
_MAX_OUTPUT_BYTES = 8_000_000
"""Of one run; earlier outputs are left out."""
_MAX_PARTS = 50
"""Histories of one run that are read, the latest ones."""
_TRANSACTIONS = 200
"""Of one page of a history."""


@dataclass(frozen=True, slots=True)
class StepOutput:
    """What a step returned, or a session replied."""

    id: str
    """Of its call; no other one of the run has it."""
    step: str
    """`team/path`; empty for a reply."""
    visit: int
    value: JsonValue


@dataclass(slots=True)
class RunReading:
    """What is read of one run."""

    outputs: list[StepOutput] = field(default_factory=list[StepOutput])
    """Oldest first."""
    left_out: int = 0
    """Earlier outputs, of a run with very many."""
    taken: set[str] = field(default_factory=set[str])
    """The ids of the updates that the run has taken."""
    replies: list[StepOutput] = field(default_factory=list[StepOutput])
    """Those of the outputs that answer messages."""
    working_on: set[str] = field(default_factory=set[str])
    """The ids of the messages that have no answer yet."""
    unanswered: str = ""
    """Why the latest message of a session has no reply."""
    closed: RunClosed | None = None
    at: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    """When its latest event happened."""
    resets: int = 0
    """How often outputs became void, since somebody reset the run to an earlier point."""
    agents: set[str] = field(default_factory=set[str])
    """`team/path` of the steps that ask models: what their tools return is not an output."""
    open: list[CallScheduled] = field(default_factory=list[CallScheduled])
    messages: dict[int, str] = field(default_factory=dict[int, str])
    """`{event: id of an update that brought a message}`, of the latest history."""
    size: int = 0

    def take(self, events: Sequence[RecordedEvent]) -> None:
        """Read further events of one history, in its order."""
        calls = calls_by_event([*self.open, *events])
        self.agents |= {it.path for it in calls.values() if isinstance(it.request, AgentRequest)}
        ended = {event.scheduled for event in events if isinstance(event, CallEnded)}
        self.open = [
            event
            for event in (*self.open, *(it for it in events if isinstance(it, CallScheduled)))
            if event.id not in ended
        ]
        for call in sorted(
            (call for call in calls.values() if call.ended is not None),
            key=lambda call: call.ended or call.scheduled,
        ):
            output = self._output(call)
            if output is not None:
                self._add(output)
        for event in events:
            self._take_message(event)
            self.at = event.at
            if isinstance(event, RunClosed):
                self.closed = event

    def leave_history(self) -> None:
        """Continue with the next history, where events are numbered anew."""
        self.open, self.messages, self.closed = [], {}, None

    def _take_message(self, event: RecordedEvent) -> None:
        match event:
            case UpdateAccepted():
                self.taken.add(event.update)
                if event.name == SEND_MESSAGE:
                    self.messages[event.id] = event.update
                    self.working_on.add(event.update)
            case UpdateCompleted() if event.accepted in self.messages:
                id = self.messages[event.accepted]
                self.working_on.discard(id)
                if event.failure is not None and event.failure.type == NOT_YET:
                    self.taken.discard(id)  # it follows in the next history
                elif event.failure is not None:
                    self.unanswered = event.failure.message
                else:
                    value = None if event.value is None else event.value.json
                    self.unanswered = ""
                    reply = StepOutput(f"reply.{id}", "", len(self.replies) + 1, value)
                    self.replies.append(reply)
                    self._add(reply)
            case _:
                pass

    def _output(self, call: RecordedCall) -> StepOutput | None:
        """Return what a call gave to the run as the output of its step; None if it is not one."""
        answer = call.answer
        match answer:
            case AgentResponse():
                is_last = not answer.tool_calls and answer.in_progress is None
                if not is_last or not answer.success or call.suffix.compacts:
                    return None
            case FunctionResult():
                if answer.kept is not None or call.path in self.agents:
                    return None
            case None:
                return None
        return StepOutput(call.id, call.path, call.visit, answer.data)

    def _add(self, output: StepOutput) -> None:
        self.outputs.append(output)
        self.size += json_size(output.value)
        while len(self.outputs) > _MAX_OUTPUTS or (
            self.size > _MAX_OUTPUT_BYTES and len(self.outputs) > 1
        ):
            self.size -= json_size(self.outputs.pop(0).value)
            self.left_out += 1


class RunReadings:
    """Reads runs for callers; keeps what it has read of the latest ones."""

    def __init__(self, pages: HistoryPages) -> None:
        """Take what reads histories."""
        self._pages = pages
        self._kept: OrderedDict[str, _Reader] = OrderedDict()

    async def read(self, run: str) -> RunReading:
        """Return what a run has come to by now.

        Raises:
            CommandError: The run does not exist, or the server does not answer.
        """
        reader = self._kept.get(run)
        if reader is None:
            reader = self._kept[run] = _Reader(run, self._pages)
        self._kept.move_to_end(run)
        while len(self._kept) > _MAX_KEPT:
            self._kept.popitem(last=False)
        try:
            return await reader.read_on()
        except RPCError as error:
            self._kept.pop(run, None)
            raise call_error(run, error) from None


class _Reader:
    """How far one run is read."""

    def __init__(self, run: str, pages: HistoryPages) -> None:
        self._run = run
        self._pages = pages
        self._reading = RunReading()
        self._first = ""
        self._run_id = ""
        self._event = 0
        self._lock = asyncio.Lock()

    async def read_on(self) -> RunReading:
        """Read what is new; raises RPCError."""
        async with self._lock:
            latest = await self._pages.latest(self._run)
            if latest.first != self._first:
                self._start_anew()  # another run has the id since
                self._first = latest.first
            for part, last in await self._new_parts(latest.run_id):
                if part.run != self._run_id:
                    self._reading.leave_history()
                    self._run_id, self._event = part.run, 0
                await self._read_part(max(part.after, self._event), last)
            return self._reading

    def _start_anew(self) -> None:
        resets = self._reading.resets + bool(self._reading.outputs)
        self._reading = RunReading(resets=resets)
        self._run_id, self._event = "", 0

    async def _new_parts(self, run_id: str) -> list[tuple[LineagePart, int | None]]:
        """Return the histories with something new, and the last event of each that counts."""
        if run_id == self._run_id:
            return [(LineagePart(run_id, self._event), None)]
        lineage = list(await self._pages.lineage(self._run, run_id))[-_MAX_PARTS:]
        place = next((at for at, it in enumerate(lineage) if it.run == self._run_id), None)
        rest = lineage if place is None else lineage[place:]
        if place is None or any(part.after for part in rest[1:]):
            self._start_anew()
            rest = lineage
        ends = [part.after or None for part in rest[1:]]
        return list(zip(rest, [*ends, None], strict=True))

    async def _read_part(self, after: int, last: int | None) -> None:
        events: list[RecordedEvent] = []
        pages = self._pages.backwards(self._run, self._run_id, _TRANSACTIONS, stored=True)
        try:
            async for page in pages:
                events[:0] = [event for event in page.events if event.id > after]
                if page.events and page.events[0].id <= after + 1:
                    break
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND or last is None:
                raise
            return  # the server has deleted an earlier history
        events = [event for event in events if last is None or event.id <= last]
        if events:
            self._reading.take(events)
            self._event = events[-1].id
