"""Read the events of a run from the newest end, page by page: what lies before a stream."""

from pydantic import Field, TypeAdapter
from temporalio.service import RPCError

from coterie.dsl.values import Documented
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.operation import AnyOperation, Operation, RunAsked
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.operations.run_listing import VIEWERS
from coterie.gateway.streams.cursors import Cursor
from coterie.gateway.streams.history_pages import HistoryPages
from coterie.gateway.streams.older_rows import MAX_EVENT, rows_before
from coterie.gateway.streams.run_events import RunEvent
from coterie.runs.call_errors import call_error

_EVENT: TypeAdapter[RunEvent] = TypeAdapter(RunEvent)


class HistoryAsked(RunAsked):
    """The input of `history`."""

    before: str = Field(default="", max_length=300)
    """The cursor of an event. Default: the end."""
    limit: int = Field(default=200, ge=1, le=1_000)
    """How many events at most."""


class HistoryPart(Documented):
    """Events of a run, oldest first."""

    events: tuple[RunEvent, ...]
    is_whole: bool
    """Whether there are none before them."""


async def _history(access: RunAccess, asked: HistoryAsked, _: Identity) -> HistoryPart:
    pages = HistoryPages(lambda: access.client)
    try:
        if asked.before:
            position = Cursor.parse(asked.before)
        else:
            latest = await pages.latest(asked.run)
            position = Cursor(latest.first, latest.run_id, MAX_EVENT)
        older = await rows_before(pages, asked.run, position, asked.limit)
    except RPCError as error:
        raise call_error(asked.run, error) from None
    events = tuple(_EVENT.validate_json(row.data) for row in older.rows)
    return HistoryPart(events=events, is_whole=older.is_whole)


OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(
        "history",
        "Returns the newest events of a run, or those before one, oldest first.",
        "GET",
        "/runs/{run}/history",
        VIEWERS,
        "run",
        HistoryAsked,
        HistoryPart,
        _history,
    ),
)
