"""Read histories page by page: forwards, waiting for more, and backwards from the newest event."""

from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflowservice.v1 import (
    DescribeWorkflowExecutionRequest,
    GetWorkflowExecutionHistoryRequest,
    GetWorkflowExecutionHistoryReverseRequest,
)
from temporalio.client import Client, WorkflowExecutionDescription, WorkflowHistory
from temporalio.service import RPCError, RPCStatusCode

from coterie.failures import CommandError
from coterie.gateway.streams.lineage import Ancestry, LineagePart
from coterie.runs.histories.history_events import read_events
from coterie.runs.histories.recorded_events import RecordedEvent, RunStarted, TaskFailure
from coterie.runs.run_client import Run
from coterie.storage.histories import whole

_REQUEST_SECONDS = timedelta(seconds=10)
_WAIT_SECONDS = timedelta(seconds=40)
"""The server answers a request that waits after 20 s."""
_MAX_ANCESTRIES = 10_000
_EMPTY_WAITS = frozenset({RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED})


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Some events, and the token of the next ones."""

    events: tuple[RecordedEvent, ...]
    token: bytes
    """Empty after the last page."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Asks for a page of a history."""

    run: str
    """The id of the run."""
    run_id: str
    """The run id of the history."""
    token: bytes = b""
    """Of the page before, which was read with the same `waits`; empty at first."""
    size: int = 0
    """How many transactions it may have; 0 for the server's default."""
    waits: bool = False
    """Whether to wait for events that are not there yet."""
    seconds: float | None = None
    """How long to wait; default: as long as the server does."""
    stored: bool = False
    """Whether to read also the values that are stored elsewhere, if they are there."""


@dataclass(frozen=True, slots=True)
class DescribedHistory:
    """A history of a run, as the server describes it."""

    run_id: str
    first: str
    """The run id of the first history of its chain."""
    events: int
    began: datetime


class HistoryPages:
    """Reads the histories of a server, and counts the requests."""

    def __init__(self, client: Callable[[], Client]) -> None:
        """Take what returns the client now: an embedded server may move."""
        self._client = client
        self.requests: int = 0
        """Requests so far, for figures."""
        self._ancestries: dict[tuple[str, str], Ancestry] = {}

    async def latest(self, run: str) -> DescribedHistory:
        """Return the latest history of a run; raises RPCError."""
        return await self.history(run, "")

    async def history(self, run: str, run_id: str) -> DescribedHistory:
        """Return one history of a run; raises RPCError."""
        self.requests += 1
        client = self._client()
        answer = await client.workflow_service.describe_workflow_execution(
            DescribeWorkflowExecutionRequest(
                namespace=client.namespace,
                execution=WorkflowExecution(workflow_id=run, run_id=run_id),
            ),
            timeout=_REQUEST_SECONDS,
        )
        info = answer.workflow_execution_info
        return DescribedHistory(
            info.execution.run_id,
            info.first_run_id or info.execution.run_id,
            info.history_length,
            info.start_time.ToDatetime(UTC),
        )

    async def describe(self, run: str) -> WorkflowExecutionDescription:
        """Return the server's description of a run; raises CommandError."""
        self.requests += 1
        return await Run(self._client(), run).describe()

    async def forwards(
        self, run: str, run_id: str, *, stored: bool = False
    ) -> AsyncGenerator[HistoryPage]:
        """Yield the pages of a history from its first event to its last one; raises RPCError."""
        token = b""
        while True:
            page = await self.page(PageRequest(run, run_id, token, stored=stored))
            yield page
            if not page.token:
                return
            token = page.token

    async def page(self, asked: PageRequest) -> HistoryPage:
        """Return a page of a history; raises RPCError."""
        self.requests += 1
        timeout = _WAIT_SECONDS if asked.waits else _REQUEST_SECONDS
        if asked.waits and asked.seconds is not None:
            timeout = timedelta(seconds=asked.seconds)
        client = self._client()
        try:
            answer = await client.workflow_service.get_workflow_execution_history(
                GetWorkflowExecutionHistoryRequest(
                    namespace=client.namespace,
                    execution=WorkflowExecution(workflow_id=asked.run, run_id=asked.run_id),
                    maximum_page_size=asked.size,
                    next_page_token=asked.token,
                    wait_new_event=asked.waits,
                    skip_archival=True,
                ),
                timeout=timeout,
            )
        except RPCError as error:
            if asked.waits and asked.token and error.status in _EMPTY_WAITS:
                return HistoryPage((), asked.token)
            raise
        events = list(answer.history.events)
        if asked.stored:
            await self._read_stored(asked.run, events)
        return HistoryPage(tuple(read_events(events)), answer.next_page_token)

    async def backwards(
        self, run: str, run_id: str, size: int, *, stored: bool = False
    ) -> AsyncGenerator[HistoryPage]:
        """Yield the pages of a history from its newest event, each in the order of the history.

        Args:
            run: The id of the run.
            run_id: The run id of the history.
            size: How many transactions a page may have.
            stored: Whether to read also the values that are stored elsewhere, if they are there.
        """
        client, token = self._client(), b""
        while True:
            self.requests += 1
            answer = await client.workflow_service.get_workflow_execution_history_reverse(
                GetWorkflowExecutionHistoryReverseRequest(
                    namespace=client.namespace,
                    execution=WorkflowExecution(workflow_id=run, run_id=run_id),
                    maximum_page_size=size,
                    next_page_token=token,
                ),
                timeout=_REQUEST_SECONDS,
            )
            token = answer.next_page_token
            events = list(reversed(answer.history.events))
            if stored:
                await self._read_stored(run, events)
            yield HistoryPage(tuple(read_events(events)), token)
            if not token:
                return

    async def _read_stored(self, run: str, events: list[HistoryEvent]) -> None:
        with suppress(CommandError):  # then these values stay unread
            await whole(WorkflowHistory(run, events), self._client().data_converter)

    async def ancestry(self, run: str, run_id: str) -> Ancestry | None:
        """Return what came before a history; None if the server has deleted it.

        It never changes, so it is read once.
        """
        key = (run, run_id)
        if key not in self._ancestries:
            try:
                found = await self._read_ancestry(run, run_id)
            except RPCError as error:
                if error.status == RPCStatusCode.NOT_FOUND:
                    return None
                raise
            while len(self._ancestries) >= _MAX_ANCESTRIES:
                del self._ancestries[next(iter(self._ancestries))]
            self._ancestries[key] = found
        return self._ancestries[key]

    async def _read_ancestry(self, run: str, run_id: str) -> Ancestry:
        first = await self.page(PageRequest(run, run_id, size=1))
        start = next((event for event in first.events if isinstance(event, RunStarted)), None)
        if start is None:
            return Ancestry()
        if start.original in ("", run_id):
            return Ancestry(start.previous)
        async for page in self.forwards(run, run_id):
            for event in page.events:
                if isinstance(event, TaskFailure) and event.reset == run_id:
                    return Ancestry(start.previous, event.base, event.id - 1)
        return Ancestry(start.previous)

    async def lineage(self, run: str, run_id: str, until: str = "") -> tuple[LineagePart, ...]:
        """Return the histories that lead to one, oldest first; raises RPCError.

        Args:
            run: The id of the run.
            run_id: The run id of the history.
            until: The run id of the history at which it may begin.
        """
        parts: list[LineagePart] = []
        before = ""
        while run_id:
            ancestry = await self.ancestry(run, run_id)
            if ancestry is None and parts and run_id != before:
                parts[-1] = LineagePart(
                    parts[-1].run
                )  # its base is deleted, and it repeats all of it
                run_id = before
                continue
            if ancestry is None:
                break
            parts.append(LineagePart(run_id, ancestry.repeated))
            if run_id == until:
                break
            run_id, before = ancestry.parent, ancestry.before
        return tuple(reversed(parts))
