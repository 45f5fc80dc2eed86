"""List the tasks of a team, latest first, page by page."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime

from a2a.types import ListTasksRequest, ListTasksResponse, Task, TaskState

from coterie.failures import CommandError
from coterie.gateway.doors.a2a.task_messages import status_message, task_message
from coterie.gateway.doors.a2a.task_views import TaskViews, context_of
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.operations.operations_table import operation_named
from coterie.gateway.operations.performance import perform
from coterie.gateway.operations.run_access import FoundRun, RunAccess
from coterie.gateway.operations.run_listing import ListAsked, ListedRun

MAX_LISTED = 500
"""The latest runs of a team that a list knows."""
_PAGE = 50
_MAX_PAGE = 100
_MAX_WHOLE_PAGE = 20
"""With artifacts, each run is read."""
_AT_ONCE = 20


_OPEN = {
    TaskState.TASK_STATE_SUBMITTED,
    TaskState.TASK_STATE_WORKING,
    TaskState.TASK_STATE_INPUT_REQUIRED,
}
_STATES = {
    "completed": {TaskState.TASK_STATE_COMPLETED},
    "cancelled": {TaskState.TASK_STATE_CANCELED},
    "failed": {TaskState.TASK_STATE_FAILED, TaskState.TASK_STATE_REJECTED},
    "terminated": {TaskState.TASK_STATE_FAILED},
    "timed out": {TaskState.TASK_STATE_FAILED},
}
"""`{state in the list of runs: states of the task}`; all others are open."""


@dataclass(frozen=True, slots=True)
class _Row:
    run: ListedRun
    found: FoundRun

    @property
    def at(self) -> datetime:
        return datetime.fromisoformat(self.run.ended or self.run.began).replace(tzinfo=UTC)


async def list_tasks(
    access: RunAccess, views: TaskViews, team: str, identity: Identity, asked: ListTasksRequest
) -> ListTasksResponse:
    """Return a page of the tasks of a team.

    Raises:
        CommandError: The identity may not, or the token is not valid.
    """
    size = min(asked.page_size or _PAGE, _MAX_WHOLE_PAGE if asked.include_artifacts else _MAX_PAGE)
    start = _place(asked.page_token)
    listing = await perform(
        access, operation_named("list"), ListAsked(team=team, limit=MAX_LISTED), identity
    )
    slots = asyncio.Semaphore(_AT_ONCE)

    async def row(run: ListedRun) -> _Row | None:
        async with slots:
            try:
                found = await access.find(run.run)
            except CommandError:
                return None  # deleted meanwhile
        return None if found is None or found.team != team else _Row(run, found)

    async def task(row: _Row) -> Task:
        async with slots:
            return task_message(await views.view(row.found), artifacts=asked.include_artifacts)

    runs = [run for run in listing.runs if run.team == team]
    rows = [it for it in await asyncio.gather(*map(row, runs)) if it is not None]
    rows = [it for it in rows if _fits(it, asked)]

    async def matches(row: _Row) -> bool:
        """Return whether a row has the wanted state; what the list does not tell is read."""
        states = _STATES.get(row.run.state, _OPEN)
        if asked.status == TaskState.TASK_STATE_UNSPECIFIED or states == {asked.status}:
            return True
        if asked.status not in states:
            return False
        async with slots:
            view = await views.view(row.found)
        return status_message(view).state == asked.status

    fitting = await asyncio.gather(*map(matches, rows))
    rows = [row for row, fits in zip(rows, fitting, strict=True) if fits]
    page = await asyncio.gather(*map(task, rows[start : start + size]))
    total = len(rows)
    following = start + size
    return ListTasksResponse(
        tasks=page,
        next_page_token=str(following) if following < total else "",
        page_size=size,
        total_size=total,
    )


def _place(token: str) -> int:
    if not token:
        return 0
    if not token.isdecimal() or len(token) > 4:
        raise Rejection(
            422, "invalid", "the page token is not valid", "Send that of the last page."
        )
    return int(token)


def _fits(row: _Row, asked: ListTasksRequest) -> bool:
    if asked.context_id and context_of(row.found.description) != asked.context_id:
        return False
    if not asked.HasField("status_timestamp_after"):
        return True
    return row.at >= asked.status_timestamp_after.ToDatetime(UTC)
