"""Filter runs by what only they know: their cost, and the text of their context.

No list of Temporal holds these, so each run is read: one query of an open run, the result of an
ended one. The number of runs that are read is bounded, and the answer says how many were.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from coterie.failures import CommandError
from coterie.gateway.operations.run_access import RunAccess
from coterie.runs.run_client import Run
from coterie.runs.run_list import RunFilter, RunRow, run_rows

MAX_READ = 200
"""Runs that one search reads."""
_AT_ONCE = 20


@dataclass(frozen=True, slots=True)
class Search:
    """What a run must have used, or hold."""

    cost_over: float | None
    """US dollars."""
    contains: str | None
    """A text in its context, in any case."""

    @property
    def reads_runs(self) -> bool:
        """Whether the list is not enough."""
        return self.cost_over is not None or self.contains is not None

    def takes(self, found: "RunContents") -> bool:
        """Return whether a run matches."""
        if self.cost_over is not None and (found.cost is None or found.cost <= self.cost_over):
            return False
        if self.contains is None:
            return True
        text = json.dumps(found.context, ensure_ascii=False)
        return self.contains.casefold() in text.casefold()


@dataclass(frozen=True, slots=True)
class RunContents:
    """What a search reads of one run."""

    cost: float | None
    context: JsonValue = None
    """Of a large one, the beginning; None if nothing is known of it."""


@dataclass(frozen=True, slots=True)
class FoundRow:
    """A run that matches a filter."""

    row: RunRow
    cost: float | None = None
    """Only if the run was read."""


@dataclass(slots=True)
class Looked:
    """How many runs a search has looked at."""

    rows: int = 0
    read: int = 0


async def found_rows(
    access: RunAccess,
    wanted: RunFilter,
    search: Search,
    allows: Callable[[str], bool],
    looked: Looked,
    limit: int,
) -> AsyncIterator[FoundRow | None]:
    """Yield the runs that match, latest first; None for one whose team is not allowed.

    Args:
        access: The runs.
        wanted: What the list of the server, and the state of each run, answer.
        search: What the runs are read for.
        allows: Whether the runs of a team may be returned.
        looked: Counts what is looked at.
        limit: How many rows of the list to look at.

    Raises:
        CommandError: The server does not answer.
    """
    batch: list[RunRow] = []
    async for row in run_rows(access.client, wanted, limit):
        looked.rows += 1
        if not allows(row.plan):
            yield None
        elif not search.reads_runs:
            yield FoundRow(row)
        else:
            batch.append(row)
        if len(batch) == _AT_ONCE:
            for found in await _read(access, batch, search, looked):
                yield found
            batch = []
            if looked.read >= MAX_READ:
                return
    for found in await _read(access, batch, search, looked):
        yield found


async def _read(
    access: RunAccess, rows: Sequence[RunRow], search: Search, looked: Looked
) -> list[FoundRow]:
    contents = await asyncio.gather(*(_contents(access.run(row.id), row, search) for row in rows))
    looked.read += len(rows)
    return [
        FoundRow(row, found.cost)
        for row, found in zip(rows, contents, strict=True)
        if found is not None and search.takes(found)
    ]


async def _contents(run: Run, row: RunRow, search: Search) -> RunContents | None:
    """Return what a run has used and holds; None if nobody answers."""
    try:
        if row.ended is not None:
            result = (await run.end()).result
            return None if result is None else RunContents(result.cost, result.context)
        if row.state == "no worker":
            return None
        status = await run.status()
        if search.contains is None:
            return RunContents(status.cost)
        return RunContents(status.cost, (await run.state("context")).value)
    except CommandError:
        return None
