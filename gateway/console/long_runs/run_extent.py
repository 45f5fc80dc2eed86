"""How long a run is: its histories, and the events of each."""

from dataclasses import dataclass
from datetime import datetime

from temporalio.service import RPCError

from coterie.gateway.operations.run_access import FoundRun
from coterie.gateway.streams.history_pages import DescribedHistory, HistoryPages
from coterie.runs.call_errors import call_error

MIN_EVENTS = 2_000
"""From here on a page shows the newest end of a run: it replays a shorter one as a whole."""
_MAX_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class HistoryExtent:
    """One history of a run."""

    run_id: str
    events: int
    began: datetime


@dataclass(frozen=True, slots=True)
class RunExtent:
    """The histories of a run, oldest first."""

    histories: tuple[HistoryExtent, ...]

    @property
    def events(self) -> int:
        """Of all histories."""
        return sum(history.events for history in self.histories)

    @property
    def is_long(self) -> bool:
        """Whether a page does not show the whole run."""
        return self.events >= MIN_EVENTS


class RunExtents:
    """Measures runs. An earlier history never grows, so it is described once."""

    def __init__(self, pages: HistoryPages) -> None:
        """Take what reads histories."""
        self._pages = pages
        self._earlier: dict[str, DescribedHistory] = {}

    async def extent(self, found: FoundRun) -> RunExtent:
        """Return the histories of a run.

        Raises:
            CommandError: The server does not answer.
        """
        latest = found.description
        last = HistoryExtent(latest.run_id, latest.history_length, latest.start_time)
        try:
            lineage = await self._pages.lineage(found.run.id, latest.run_id)
            earlier = [await self._describe(found.run.id, part.run) for part in lineage[:-1]]
        except RPCError as error:
            raise call_error(found.run.id, error) from None
        return RunExtent((*earlier, last))

    async def _describe(self, run: str, run_id: str) -> HistoryExtent:
        known = self._earlier.get(run_id)
        if known is None:
            known = self._earlier[run_id] = await self._pages.history(run, run_id)
            while len(self._earlier) > _MAX_KEPT:
                del self._earlier[next(iter(self._earlier))]
        return HistoryExtent(run_id, known.events, known.began)
