"""What an upgrade would change: replay open runs with the code and the documents of this gateway.

Replays take the processor and may take minutes, so a request waits some seconds for them and says
how many are left.
"""

import asyncio

from pydantic import Field

from coterie.documents.catalog import Catalog
from coterie.documents.compilation import compile_located
from coterie.documents.trusted_catalog import plan_of_worker
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.values import Documented
from coterie.failures import CommandError
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.operation import AnyOperation, Name, Operation
from coterie.gateway.operations.permissions import Allowed, may
from coterie.gateway.operations.run_access import FoundRun, RunAccess
from coterie.gateway.operations.run_listing import VIEWERS
from coterie.rendering.run_table import iso_moment
from coterie.replay.replay_report import ReplayedRun, replayed_run
from coterie.runs.call_errors import UnknownRun
from coterie.runs.run_list import open_executions
from coterie.settings import Settings
from coterie.version import own_version

_MAX_LOOKED_AT = 500
_WAIT_SECONDS = 4.0
"""How long one request waits; the next one finds what has finished meanwhile."""


class UpgradeAsked(Documented):
    """The input of `upgrade`."""

    team: Name | None = None
    """Only runs of this team. Default: all."""
    limit: int = Field(default=50, ge=1, le=100)
    """At most so many open runs, latest first."""


class UpgradeReport(Documented):
    """What the code of this gateway would decide in runs that are open."""

    version: str
    """Of that code."""
    runs: tuple[ReplayedRun, ...]
    """Those that are replayed, latest first."""
    left: int
    """Runs whose replay has not finished: repeat the request."""
    more: bool
    """Whether there may be further open runs."""


async def _upgrade(access: RunAccess, asked: UpgradeAsked, identity: Identity) -> UpgradeReport:
    runs, more = await _open_runs(access, asked, identity)
    results = await access.upgrades.finished([found.description for found in runs], _WAIT_SECONDS)
    teams = {found.team for found in runs}
    digests = await asyncio.to_thread(_current_digests, access.settings, teams)
    rows: list[ReplayedRun] = []
    for found in runs:
        if found.run.id not in results:
            continue
        done, at = results[found.run.id]
        current = digests.get(found.team)
        known = bool(current and done.plan_digest)
        update = {
            "team": found.team,
            "has_current_plan": current == done.plan_digest if known else None,
            "at": iso_moment(at),
        }
        rows.append(replayed_run(done).model_copy(update=update))
    return UpgradeReport(
        version=own_version(), runs=tuple(rows), left=len(runs) - len(rows), more=more
    )


async def _open_runs(
    access: RunAccess, asked: UpgradeAsked, identity: Identity
) -> tuple[list[FoundRun], bool]:
    """Return the open runs that an identity may see, latest first, and whether there are more."""
    runs: list[FoundRun] = []
    looked_at = 0
    async for execution in open_executions(access.client, limit=_MAX_LOOKED_AT):
        looked_at += 1
        try:
            found = await access.find(execution.id)
        except UnknownRun:
            continue  # it was deleted meanwhile
        if found is None or not found.is_open or asked.team not in (None, found.team):
            continue
        if not isinstance(may(identity, VIEWERS, found.team), Allowed):
            continue
        if len(runs) == asked.limit:
            return runs, True
        runs.append(found)
    return runs, looked_at == _MAX_LOOKED_AT


def _current_digests(settings: Settings, teams: set[str]) -> dict[str, str]:
    """Return the digest of the plan that each team has in the project now, where it compiles."""
    catalog = Catalog(settings)
    digests: dict[str, str] = {}
    for team in teams:
        located = catalog.named(team)
        if located is None:
            continue
        try:
            compiled = compile_located(catalog, located, only_shown=True)
            digests[team] = plan_of_worker(compiled, team, settings, catalog).digest
        except (InvalidDocument, CommandError):
            continue
    return digests


OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(
        "upgrade",
        "Replays open runs with the code of this gateway, and lists what it decides differently.",
        "GET",
        "/upgrade",
        VIEWERS,
        "teams",
        UpgradeAsked,
        UpgradeReport,
        _upgrade,
    ),
)
