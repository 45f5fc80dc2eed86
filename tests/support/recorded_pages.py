"""Histories in memory, read like those of a server: page by page, as they grow, and backwards."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from copy import deepcopy
from datetime import UTC
from functools import cache
from pathlib import Path
from random import Random
from typing import Self, overload

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowExecutionDescription
from temporalio.service import RPCError, RPCStatusCode

from coterie.failures import CommandError
from coterie.gateway.streams.history_pages import (
    DescribedHistory,
    HistoryPage,
    HistoryPages,
    PageRequest,
)
from coterie.runs.histories.history_events import read_events
from coterie.storage.histories import read_history

HISTORIES = Path(__file__).parents[1] / "replay" / "histories"
_UNSTABLE = (
    EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED,
    EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED,
)


def _no_client() -> Client:
    raise AssertionError("a recorded run has no server")


@cache
def chains() -> Mapping[str, Sequence[Sequence[HistoryEvent]]]:
    """Return the recorded runs: `{name: its histories}`."""
    found: dict[str, list[Sequence[HistoryEvent]]] = {}
    for file in sorted(HISTORIES.glob("*.json"), key=lambda file: (len(file.name), file.name)):
        found.setdefault(file.name.partition(".")[0], []).append(read_history(file).events)
    return found


class SerialisedEvents(Sequence[HistoryEvent]):
    """Events that are decoded whenever somebody reads them, as those of a server are."""

    def __init__(self, events: Iterable[HistoryEvent]) -> None:
        self._events = [event.SerializeToString() for event in events]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._events)

    @overload
    def __getitem__(self, place: int) -> HistoryEvent: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[HistoryEvent]: ...
    def __getitem__(self, place: int | slice) -> HistoryEvent | Sequence[HistoryEvent]:
        """Decode one, or some."""
        if isinstance(place, int):
            return HistoryEvent.FromString(self._events[place])
        return [HistoryEvent.FromString(event) for event in self._events[place]]


class RecordedPages(HistoryPages):
    """A server that has the histories of one run, whatever its id, and tells them in pages."""

    def __init__(
        self,
        histories: Mapping[str, Sequence[HistoryEvent]],
        first: str,
        seed: int = 1,
        *,
        size: int = 0,
        is_open: bool = False,
    ) -> None:
        """Take `{run id: events}`, oldest first, and the run id of the first history.

        Args:
            histories: The events.
            first: The run id of the first history.
            seed: Of the random lengths of pages.
            size: Events of a page; 0: a random number.
            is_open: Whether the run has not ended, however it grows.
        """
        super().__init__(_no_client)
        self.histories = dict(histories)
        self.known = list(self.histories)
        """The histories that have begun; the last one is the latest."""
        self.lengths = {run_id: len(events) for run_id, events in self.histories.items()}
        """How many events of each history have happened."""
        self.grown = asyncio.Event()
        self._first = first
        self._random = Random(seed)
        self._size = size
        self._is_open = is_open

    @classmethod
    def of(cls, name: str, seed: int = 1) -> Self:
        """Return the pages of a recorded run."""
        parts = chains()[name]
        run_ids = [f"00000000-0000-4000-8000-{number:012}" for number in range(1, len(parts) + 1)]
        return cls(dict(zip(run_ids, parts, strict=True)), run_ids[0], seed)

    def begin(self) -> None:
        """Let nothing have happened but the first event."""
        self.known = self.known[:1]
        self.lengths = dict.fromkeys(self.histories, 1)

    def grow(self, count: int) -> bool:
        """Let some events happen; return whether there are more."""
        latest = self.known[-1]
        whole = len(self.histories[latest])
        if self.lengths[latest] < whole:
            self.lengths[latest] = min(whole, self.lengths[latest] + count)
        else:
            return False
        if self._is_over(latest) and len(self.known) < len(self.histories):
            self.known.append(list(self.histories)[len(self.known)])
        self.grown.set()
        return True

    async def history(self, run: str, run_id: str) -> DescribedHistory:
        """Return the latest history, or another one."""
        self.requests += 1
        events = self._of(run_id or self.known[-1])
        began = events[0].event_time.ToDatetime(UTC)
        length = self.lengths[run_id or self.known[-1]]
        return DescribedHistory(run_id or self.known[-1], self._first, length, began)

    async def describe(self, run: str) -> WorkflowExecutionDescription:
        """Know nothing of calls in progress."""
        raise CommandError("a recorded run is not described")

    async def page(self, asked: PageRequest) -> HistoryPage:
        """Return some events; of an open history also tasks that will not be recorded."""
        self.requests += 1
        await asyncio.sleep(0)
        run_id, waits = asked.run_id, asked.waits
        events = self._of(run_id)
        start = int(asked.token or b"0")
        while waits and start >= self.lengths[run_id] and not self._is_over(run_id):
            self.grown.clear()
            try:
                async with asyncio.timeout(asked.seconds):
                    await self.grown.wait()
            except TimeoutError:
                return HistoryPage((), asked.token)
        end = min(self.lengths[run_id], start + (asked.size or self._length()))
        page = list(events[start:end])
        is_end = end == self.lengths[run_id]
        if is_end and waits and not self._is_over(run_id):
            page += _transient(events[end - 1])
        is_last = is_end and (not waits or self._is_over(run_id))
        return HistoryPage(tuple(read_events(page)), b"" if is_last else str(end).encode())

    async def backwards(
        self, run: str, run_id: str, size: int, *, stored: bool = False
    ) -> AsyncGenerator[HistoryPage]:
        """Yield the events from the newest one."""
        events = self._of(run_id)
        end = self.lengths[run_id]
        while end:
            self.requests += 1
            await asyncio.sleep(0)
            start = max(0, end - self._length())
            yield HistoryPage(tuple(read_events(events[start:end])), b"x" if start else b"")
            end = start

    def _length(self) -> int:
        return self._size or self._random.randint(1, 9)

    def _of(self, run_id: str) -> Sequence[HistoryEvent]:
        if run_id not in self.known:
            raise RPCError("workflow not found", RPCStatusCode.NOT_FOUND, b"")
        return self.histories[run_id]

    def _is_over(self, run_id: str) -> bool:
        is_latest = run_id == list(self.histories)[-1]
        is_whole = self.lengths[run_id] == len(self.histories[run_id])
        return is_whole and not (self._is_open and is_latest)


class SeveralRuns(HistoryPages):
    """A server with several runs."""

    def __init__(self, runs: Mapping[str, RecordedPages]) -> None:
        super().__init__(_no_client)
        self._runs = runs

    async def history(self, run: str, run_id: str) -> DescribedHistory:
        """Return a history of a run."""
        return await self._runs[run].history(run, run_id)

    async def describe(self, run: str) -> WorkflowExecutionDescription:
        """Know nothing of calls in progress."""
        return await self._runs[run].describe(run)

    async def page(self, asked: PageRequest) -> HistoryPage:
        """Return some events of a run."""
        return await self._runs[asked.run].page(asked)

    def backwards(
        self, run: str, run_id: str, size: int, *, stored: bool = False
    ) -> AsyncGenerator[HistoryPage]:
        """Yield the events of a run from its newest one."""
        return self._runs[run].backwards(run, run_id, size, stored=stored)


def _transient(last: HistoryEvent) -> list[HistoryEvent]:
    """Return a workflow task with the ids that other events will have."""
    tasks: list[HistoryEvent] = []
    for offset, type in enumerate(_UNSTABLE, 1):
        task = HistoryEvent(event_id=last.event_id + offset, event_type=type)
        task.event_time.CopyFrom(last.event_time)
        tasks.append(task)
    return tasks


def reset_at(
    events: Sequence[HistoryEvent], event: int, run_ids: tuple[str, str]
) -> list[HistoryEvent]:
    """Return the history that a reset of another one makes: what comes after is up to the caller.

    Args:
        events: Of the base.
        event: The last one that is repeated.
        run_ids: Of the base, and of the new history.
    """
    repeated = [deepcopy(one) for one in events[:event]]
    failed = HistoryEvent(event_id=event + 1, event_type=EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED)
    failed.event_time.CopyFrom(events[event].event_time)
    failed.workflow_task_failed_event_attributes.base_run_id = run_ids[0]
    failed.workflow_task_failed_event_attributes.new_run_id = run_ids[1]
    return [*repeated, failed]
