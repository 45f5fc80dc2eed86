"""A client of Temporal that knows recorded runs alone, and needs no server."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import (
    Client,
    DescribeWorkflowInput,
    FetchWorkflowHistoryEventsInput,
    Interceptor,
    ListWorkflowsInput,
    OutboundInterceptor,
    QueryWorkflowInput,
    WorkflowHistory,
)
from temporalio.service import RPCError, RPCStatusCode

from coterie.storage.histories import WORKFLOW
from coterie.storage.wire import data_converter


class Recorded(Interceptor):
    """Answers with histories; every query fails as the test asks."""

    def __init__(
        self,
        histories: Sequence[WorkflowHistory],
        earlier: Mapping[str, WorkflowHistory] | None = None,
        latest: str = "latest",
    ) -> None:
        self.histories = {history.workflow_id: history for history in histories}
        self.earlier = earlier or {}
        """Earlier parts of runs that continued as new, by their run ids."""
        self.latest = latest
        """The run id of each latest part."""
        self.workflow_type = WORKFLOW
        """Of each latest part."""
        self.executions: list[tuple[str, datetime]] = []
        """The run ids and start times that the server lists."""
        self.failure: Exception = RPCError("no worker", RPCStatusCode.DEADLINE_EXCEEDED, b"")
        self.queries: list[str] = []
        """The ids of the runs that were asked."""
        self.silent: set[str] = set()
        """The ids of runs whose history never comes."""

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        """Stand before everything that goes out."""
        return _Answers(next, self)


class _Answers(OutboundInterceptor):
    def __init__(self, next: OutboundInterceptor, known: Recorded) -> None:
        super().__init__(next)
        self._known = known

    def fetch_workflow_history_events(self, input: FetchWorkflowHistoryEventsInput) -> Any:
        async def events() -> AsyncIterator[HistoryEvent]:
            if input.id in self._known.silent:
                await asyncio.Event().wait()
            if input.id not in self._known.histories:
                raise RPCError("not found", RPCStatusCode.NOT_FOUND, b"")
            latest = self._known.histories[input.id]
            for event in self._known.earlier.get(input.run_id or "", latest).events:
                yield event

        return events()

    def list_workflows(self, input: ListWorkflowsInput) -> Any:
        async def executions() -> AsyncIterator[SimpleNamespace]:
            for run_id, start_time in self._known.executions:
                yield SimpleNamespace(run_id=run_id, start_time=start_time)

        return executions()

    async def query_workflow(self, input: QueryWorkflowInput) -> Any:
        self._known.queries.append(input.id)
        raise self._known.failure

    async def describe_workflow(self, input: DescribeWorkflowInput) -> Any:
        if input.id not in self._known.histories:
            raise RPCError("not found", RPCStatusCode.NOT_FOUND, b"")
        return SimpleNamespace(
            id=input.id, workflow_type=self._known.workflow_type, run_id=self._known.latest
        )


async def client_of(known: Recorded) -> Client:
    """A client of these runs, which never connects."""
    return await Client.connect(
        "127.0.0.1:9", lazy=True, data_converter=data_converter, interceptors=[known]
    )
