"""List runs, and say where one stands."""

from argparse import ArgumentTypeError
from datetime import timedelta
from typing import Annotated

from pydantic import Field

from coterie.arguments import age_given
from coterie.dsl.values import Documented
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.operations.operation import Age, AnyOperation, Name, Operation, RunAsked
from coterie.gateway.operations.permissions import Allowed, may
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.operations.run_search import MAX_READ, Looked, Search, found_rows
from coterie.rendering.run_table import iso_moment
from coterie.runs.call_errors import Unanswered
from coterie.runs.ends.end_facts import CLOSED_STATES
from coterie.runs.ends.end_words import incomplete_reason
from coterie.runs.run_list import FilterState, RunFilter, RunRow, RunState, open_state
from coterie.workflows.core.views import RunStatus, TeamResult

VIEWERS = (Role.VIEWER,)
_MAX_LOOKED_AT = 1_000


class RunFilterAsked(Documented):
    """Which runs."""

    state: FilterState | None = None
    """Only runs in this state. Default: any."""
    team: Name | None = None
    """Only runs of this team, or runs that are in it now."""
    newer_than: Age | None = None
    """Only runs that started within this time, such as `2h` or `3d`."""
    older_than: Age | None = None
    """Only runs that started before this time."""
    cost_over: float | None = Field(default=None, ge=0, le=1e9, allow_inf_nan=False)
    """Only runs that have cost more US dollars. Each run is read for it, at most 200 of them."""
    contains: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Only runs with this text in their context; like `cost_over`."""

    @property
    def search(self) -> Search:
        """The part of it for which runs are read."""
        return Search(self.cost_over, self.contains)

    def filter(self) -> RunFilter:
        """Return it as the list of runs takes it.

        Raises:
            Rejection: A duration is too long.
        """
        return RunFilter(
            self.state,
            self.team,
            _age("newer_than", self.newer_than),
            _age("older_than", self.older_than),
        )


class ListAsked(RunFilterAsked):
    """The input of `list`."""

    limit: int = Field(default=50, ge=1, le=500)
    """At most so many runs, latest first."""


class ListedRun(Documented):
    """One run of the list."""

    run: str
    run_id: str
    """Of its latest execution, for `bulk`."""
    team: str
    """The team that was started."""
    state: RunState
    began: str
    """ISO 8601, UTC."""
    ended: str | None = None
    at: tuple[str, ...] = ()
    """The current teams of an open run."""
    doing: tuple[str, ...] = ()
    """The steps in progress."""
    waiting_for: tuple[str, ...] = ()
    """Ids of the requests that wait for a person."""
    cost: float | None = None
    """US dollars so far; only with `cost_over` or `contains`."""


class RunListing(Documented):
    """Runs, latest first."""

    runs: tuple[ListedRun, ...]
    more: bool
    """Whether there may be further ones, that match and are older."""
    read: int | None = None
    """With `cost_over` or `contains`: how many runs were read for it. Older ones were not."""


class RunDescription(Documented):
    """Where a run stands, or how it ended."""

    run: str
    run_id: str
    """The id of its latest execution."""
    team: str
    state: RunState
    began: str
    ended: str | None = None
    because: str = ""
    """Why it is where it is, or why it did not complete."""
    status: RunStatus | None = None
    """Of an open run that a worker serves."""
    result: TeamResult | None = None
    """Of a run that has ended with one."""


def _age(name: str, text: str | None) -> timedelta | None:
    if text is None:
        return None
    try:
        return age_given(text)
    except ArgumentTypeError as error:
        raise Rejection(422, "invalid", f"{name}: {error}") from None


def listed_run(row: RunRow, cost: float | None = None) -> ListedRun:
    """Return a row for programs."""
    return ListedRun(
        run=row.id,
        team=row.plan,
        state=row.state,
        began=iso_moment(row.began),
        ended=None if row.ended is None else iso_moment(row.ended),
        at=row.teams,
        doing=row.doing,
        waiting_for=row.waits_for,
        run_id=row.run_id,
        cost=cost,
    )


async def _list(access: RunAccess, asked: ListAsked, identity: Identity) -> RunListing:
    found: list[ListedRun] = []
    looked, search, has_more = Looked(), asked.search, False

    def allows(team: str) -> bool:
        return isinstance(may(identity, VIEWERS, team), Allowed)

    async for one in found_rows(access, asked.filter(), search, allows, looked, _MAX_LOOKED_AT):
        if len(found) == asked.limit:
            has_more = True
            break
        if one is not None:
            found.append(listed_run(one.row, one.cost))
    is_bounded = looked.rows == _MAX_LOOKED_AT or looked.read >= MAX_READ
    return RunListing(
        runs=tuple(found),
        more=has_more or is_bounded,
        read=looked.read if search.reads_runs else None,
    )


async def _describe(access: RunAccess, asked: RunAsked, _: Identity) -> RunDescription:
    run = access.run(asked.run)
    found = await access.existing(asked.run)
    began = iso_moment(await run.began(found.description))
    run_id, team = found.description.run_id, found.team
    if found.is_open:
        try:
            status = await run.status()
        except Unanswered as error:
            return RunDescription(
                run=run.id,
                run_id=run_id,
                team=team,
                state="no worker",
                began=began,
                because=str(error),
            )
        return RunDescription(
            run=run.id,
            run_id=run_id,
            team=team,
            state=open_state(status),
            began=began,
            because=status.last_because,
            status=status,
        )
    end, closed = await run.end(), found.description.close_time
    state = CLOSED_STATES.get(found.description.status) if found.description.status else None
    return RunDescription(
        run=run.id,
        run_id=run_id,
        team=team,
        state=state or end.state,
        began=began,
        ended=None if closed is None else iso_moment(closed),
        because=incomplete_reason(end) or ("" if end.result is None else end.result.because),
        result=end.result,
    )


OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(
        "list",
        "Lists the runs that match a filter, latest first.",
        "GET",
        "/runs",
        VIEWERS,
        "teams",
        ListAsked,
        RunListing,
        _list,
    ),
    Operation(
        "describe",
        "Says where a run stands, or how it ended.",
        "GET",
        "/runs/{run}",
        VIEWERS,
        "run",
        RunAsked,
        RunDescription,
        _describe,
    ),
)
