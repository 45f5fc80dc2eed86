"""Read the events of a run from the newest end, page by page, and the calls of its whole length."""

import asyncio

from pydantic import Field
from temporalio.service import RPCError

from coterie.dsl.values import Documented
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.operation import AnyOperation, Operation, RunAsked
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.operations.run_listing import VIEWERS
from coterie.gateway.streams.cursors import Cursor
from coterie.gateway.streams.event_rows import moment
from coterie.gateway.streams.older_rows import MAX_EVENT, rows_before
from coterie.gateway.streams.run_events import RunEvent, read_run_event
from coterie.gateway.timelines.bars import TimeScale, short_waits
from coterie.gateway.timelines.run_timelines import ReadTimeline
from coterie.runs.call_errors import call_error

WHOLE = 1_000_000
"""Units of the scale of a whole timeline."""
_READING_SECONDS = 2.0
"""How long a client waits for events that are not read yet; then it asks again."""


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
    pages = access.pages
    try:
        if asked.before:
            position = Cursor.parse(asked.before)
        else:
            latest = await pages.latest(asked.run)
            position = Cursor(latest.first, latest.run_id, MAX_EVENT)
        older = await rows_before(pages, asked.run, position, asked.limit)
    except RPCError as error:
        raise call_error(asked.run, error) from None
    events = tuple(read_run_event(row.data) for row in older.rows)
    return HistoryPart(events=events, is_whole=older.is_whole)


class Bars(Documented):
    """The bars of a run, one column for each property; each column has an item for each bar."""

    label: tuple[int, ...] = ()
    """Its place in `labels`."""
    kind: tuple[int, ...] = ()
    """Its place in `kinds`."""
    at: tuple[int, ...] = ()
    """Where it begins: from 0 to 1,000,000 of the whole."""
    length: tuple[int, ...] = ()
    waited: tuple[int, ...] = ()
    """How much of the length is queues, and intervals of retries."""
    began: tuple[float, ...] = ()
    """Seconds since the run began."""
    took: tuple[float, ...] = ()
    """Seconds; of a call in progress: so far."""
    ended: tuple[bool, ...] = ()
    failed: tuple[bool, ...] = ()


class WholeTimeline(Documented):
    """When each call of a run was made: what a picture of its whole length needs."""

    is_whole: bool
    """Whether all events are read; until then ask again."""
    read: int
    """Events read so far."""
    events: int
    """Of all histories of the run."""
    began: str
    """ISO 8601, UTC."""
    seconds: float
    """From the begin to the end, or to now."""
    left_out: int = 0
    """The oldest bars, of a run with very many calls."""
    labels: tuple[str, ...] = ()
    """`team/path` of the steps, or what a person sent."""
    kinds: tuple[str, ...] = ()
    """`turn`, `call`, `step`, `person`."""
    bars: Bars = Bars()
    """In the order of their starts."""
    short: str = ""
    """The longest waits that are drawn short."""


async def _timeline(access: RunAccess, asked: RunAsked, _: Identity) -> WholeTimeline:
    read = await access.timelines.timeline(asked.run, _READING_SECONDS)
    return await asyncio.to_thread(whole_timeline, read)


def whole_timeline(read: ReadTimeline) -> WholeTimeline:
    """Return the bars of a run in columns."""
    scale = TimeScale.of(read.began, read.ended, read.bars)
    labels: dict[str, int] = {}
    kinds: dict[str, int] = {}
    rows = [
        (
            labels.setdefault(bar.label, len(labels)),
            kinds.setdefault(bar.kind, len(kinds)),
            at := round(scale.share(bar.began) * WHOLE),
            round(scale.share(bar.ended or read.ended) * WHOLE) - at,
            0 if bar.started is None else round(scale.share(bar.started) * WHOLE) - at,
            round((bar.began - read.began).total_seconds(), 3),
            round(((bar.ended or read.ended) - bar.began).total_seconds(), 3),
            bar.ended is not None,
            bar.failed,
        )
        for bar in read.bars
    ]
    columns = dict(zip(Bars.model_fields, zip(*rows, strict=True), strict=True)) if rows else {}
    return WholeTimeline(
        is_whole=read.is_whole,
        read=read.read,
        events=read.events,
        began=moment(read.began),
        seconds=(read.ended - read.began).total_seconds(),
        left_out=read.left_out,
        labels=tuple(labels),
        kinds=tuple(kinds),
        bars=Bars.model_validate(columns),
        short=short_waits(scale.waits()),
    )


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
    Operation(
        "timeline",
        "Returns when each call of a run was made, as far as its histories are read.",
        "GET",
        "/runs/{run}/timeline",
        VIEWERS,
        "run",
        RunAsked,
        WholeTimeline,
        _timeline,
    ),
)
