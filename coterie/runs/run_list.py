"""List a server's runs: their state, position and age."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal, assert_never, get_args

from temporalio.client import (
    Client,
    WorkflowExecution,
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
)
from temporalio.service import RPCError

from coterie.failures import CommandError
from coterie.runs.call_errors import NoWorker, list_error
from coterie.runs.ends.end_facts import CLOSED_STATES, ClosedState
from coterie.runs.histories.recorded_plans import started_name
from coterie.runs.run_client import Run
from coterie.runs.task_queues import is_served
from coterie.storage.histories import WORKFLOW
from coterie.workflows.core.state_keys import StepKey
from coterie.workflows.core.views import RunStatus


async def open_runs(client: Client) -> AsyncIterator[Run]:
    """Yield every open run, latest first."""
    async for execution in open_executions(client):
        yield Run(client, execution.id)


async def open_executions(
    client: Client, only: str | None = None, limit: int | None = None
) -> AsyncIterator[WorkflowExecution]:
    """Yield the server's description of every open run, latest first.

    Args:
        client: Client of the server.
        only: A Temporal list filter to select runs.
        limit: Maximum number of runs.

    Raises:
        CommandError: The filter is invalid, or the server does not answer.
    """
    query = f"WorkflowType = '{WORKFLOW}' AND ExecutionStatus = 'Running'"
    try:
        executions = client.list_workflows(f"{query} AND ({only})" if only else query, limit=limit)
        async for execution in executions:
            yield execution
    except RPCError as error:
        raise list_error(error) from None


OpenState = Literal[
    "running",
    "waiting",
    "paused",
    "stopping",
    "no worker",
]
RunState = OpenState | ClosedState
FilterState = Literal[
    "running",
    "waiting",
    "paused",
    "stopping",
    "no_worker",
    "completed",
    "failed",
    "cancelled",
    "terminated",
    "timed_out",
    "open",
    "closed",
]
"""A state as people write it, or several of them."""
OPEN: tuple[OpenState, ...] = get_args(OpenState)
_AT_ONCE = 20
_STATUS_NAMES: dict[str, str] = {
    "completed": "Completed",
    "failed": "Failed",
    "cancelled": "Canceled",
    "terminated": "Terminated",
    "timed out": "TimedOut",
}


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs to list."""

    state: FilterState | None = None
    """None for any."""
    team: str | None = None
    """The team that was started, or that the run is at."""
    newer_than: timedelta | None = None
    """Maximum age."""
    older_than: timedelta | None = None
    """Minimum age."""

    @property
    def wanted_state(self) -> str | None:
        """The state as rows show it."""
        return None if self.state is None else self.state.replace("_", " ")

    def query(self, now: datetime) -> str:
        """Build the server's part of the filter; the rest needs answers from runs."""
        parts = [f"WorkflowType = '{WORKFLOW}'", "ExecutionStatus != 'ContinuedAsNew'"]
        state = self.wanted_state
        if state == "open" or state in OPEN:
            parts.append("ExecutionStatus = 'Running'")
        elif state == "closed":
            parts.append("ExecutionStatus != 'Running'")
        elif state is not None:
            parts.append(f"ExecutionStatus = '{_STATUS_NAMES[state]}'")
        if self.newer_than is not None:
            # The server lists the latest part of a run that continued as new, which started later.
            parts.append(f"StartTime >= '{(now - self.newer_than).isoformat()}'")
        return " AND ".join(parts)

    def takes(self, row: "RunRow", now: datetime) -> bool:
        """Return whether a run matches the filter."""
        state = self.wanted_state
        if state is not None and state not in ("open", "closed") and row.state != state:
            return False
        if self.team is not None and self.team not in (row.plan, *row.teams):
            return False
        age = now - row.began
        if self.newer_than is not None and age > self.newer_than:
            return False
        return self.older_than is None or age >= self.older_than


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run of the list."""

    id: str
    plan: str
    """The team or document that was started."""
    state: RunState
    began: datetime
    ended: datetime | None = None
    teams: tuple[str, ...] = ()
    """The current teams of an open run."""
    doing: tuple[str, ...] = ()
    waits_for: tuple[str, ...] = ()
    """Ids of the requests that wait for a person."""
    run_id: str = ""
    """Of its latest execution."""


async def run_rows(client: Client, wanted: RunFilter, limit: int) -> AsyncIterator[RunRow]:
    """Yield the runs that match a filter, latest first.

    Raises:
        CommandError: The server does not answer.
    """
    now = datetime.now(UTC)
    lister = _Lister(client)
    count = 0
    batch: list[WorkflowExecution] = []
    try:
        async for execution in client.list_workflows(wanted.query(now), page_size=100):
            batch.append(execution)
            if len(batch) < _AT_ONCE:
                continue
            for row in await lister.rows(batch):
                if count < limit and wanted.takes(row, now):
                    count += 1
                    yield row
            batch = []
            if count >= limit:
                return
    except RPCError as error:
        raise list_error(error) from None
    for row in await lister.rows(batch):
        if count < limit and wanted.takes(row, now):
            count += 1
            yield row


class _Lister:
    """Asks the server, and the workers that answer, about each run."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._served: dict[str, bool] = {}

    async def rows(self, batch: Iterable[WorkflowExecution]) -> list[RunRow]:
        """Return the rows of several runs, queried concurrently; omit runs that are gone."""
        executions = list(batch)
        for queue in {execution.task_queue for execution in executions if _is_open(execution)} - {
            *self._served
        }:
            self._served[queue] = await is_served(self._client, queue)
        rows = await asyncio.gather(*(self._row(execution) for execution in executions))
        return [row for row in rows if row is not None]

    async def _row(self, execution: WorkflowExecution) -> RunRow | None:
        run = Run(self._client, execution.id)
        try:
            description = await run.describe()
            began = await run.began(description)
        except CommandError:
            return None
        plan = await started_name(self._client, description)
        if not _is_open(description):
            row = closed_row(description, plan, began)
        else:
            status = await self._status(run, description.task_queue)
            row = (
                RunRow(execution.id, plan, "no worker", began)
                if status is None
                else open_row(execution.id, plan, began, status)
            )
        return None if row is None else replace(row, run_id=description.run_id)

    async def _status(self, run: Run, queue: str) -> RunStatus | None:
        """Return the status from the run's worker; skip queues where no worker answered before."""
        if not self._served.get(queue, False):
            return None
        try:
            return await run.status()
        except CommandError as error:
            if isinstance(error, NoWorker):
                self._served[queue] = False
            return None


def _is_open(execution: WorkflowExecution) -> bool:
    return execution.status == WorkflowExecutionStatus.RUNNING


def closed_row(
    described: WorkflowExecutionDescription, plan: str, began: datetime
) -> RunRow | None:
    """Return the row of a run that has ended; None for a part that continued as new."""
    if described.status is None or described.status not in CLOSED_STATES:
        return None
    state = CLOSED_STATES[described.status]
    return RunRow(described.id, plan, state, began, ended=described.close_time)


def open_row(id: str, plan: str, began: datetime, status: RunStatus) -> RunRow:
    """Return the row of a run from its worker's status."""
    steps = (*(current.step for current in status.doing), *status.waiting_for)
    teams = dict.fromkeys(StepKey(step).team for step in steps)
    if status.team is not None:
        teams[status.team] = None
    return RunRow(
        id,
        status.plan or plan,
        open_state(status),
        began,
        teams=tuple(teams),
        doing=tuple(current.step for current in status.doing),
        waits_for=status.waiting_for,
    )


def open_state(status: RunStatus) -> Literal["running", "waiting", "paused", "stopping"]:
    """Return how an open run stands."""
    match status.state:
        case "running" | "waiting" | "paused" | "stopping" as state:
            return state
        case "done":  # how it ends is known when Temporal has closed it
            return "running"
        case "cancelled":
            return "stopping"
        case _:
            assert_never(status.state)
