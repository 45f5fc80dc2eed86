"""What the reader of a team's page may do with the team, and how its runs went."""

import asyncio
from dataclasses import dataclass
from typing import cast

from coterie.documents.catalog import Catalog
from coterie.evals.kept_reports import kept_reports
from coterie.gateway.console.fields.form_fields import FormField
from coterie.gateway.console.runs_page import RunLine, runs_page
from coterie.gateway.console.team_evals import EvalLine, eval_lines
from coterie.gateway.console.team_page import TeamPage, team_page
from coterie.gateway.console.team_trends import RunStats, run_stats
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.operations.operations_table import operation_named
from coterie.gateway.operations.performance import perform
from coterie.gateway.operations.permissions import Allowed, may
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.operations.run_listing import ListAsked, RunListing
from coterie.gateway.operations.run_permissions import require
from coterie.gateway.operations.run_starts import unknown_team
from coterie.runs.call_errors import Unanswered
from coterie.settings import Settings

_LATEST = 100
_WITH_RESULT = ("completed", "failed")
"""The result of a cancelled run needs a worker, so its cost is not asked for."""
_NOTHING = RunListing(runs=(), more=False)


@dataclass(frozen=True, slots=True)
class TeamActions:
    """What a reader may do with one team."""

    may_start: bool
    fields: tuple[FormField, ...]
    id: str
    """Of the run to start, as it was typed."""
    runs: tuple[RunLine, ...] | None
    """None: the server does not answer."""
    stats: RunStats
    evals: tuple[EvalLine, ...]
    """The latest report of each suite, newest first."""


async def team_view(
    access: RunAccess,
    team: str,
    identity: Identity,
    typed: tuple[FormField, ...] | None = None,
    id: str = "",
) -> tuple[TeamPage, TeamActions]:
    """Return the page of a team for a reader.

    Args:
        access: The runs, and the project.
        team: Its name.
        identity: Who reads.
        typed: The form of a start, as it was typed.
        id: Of the run to start, as it was typed.

    Raises:
        CommandError: The identity may not see it, or there is no such team.
        InvalidDocument: The document has problems.
    """
    require(may(identity, (Role.VIEWER, Role.STARTER), team))
    page = await asyncio.to_thread(_team_page, access.settings, team, identity)
    may_view = isinstance(may(identity, (Role.VIEWER,), team), Allowed)
    listing = await _latest(access, team, identity) if may_view else _NOTHING
    lines = None if listing is None else runs_page(listing, ListAsked()).runs
    runs = () if listing is None else listing.runs
    ended = [(run.run, run.ended) for run in runs if run.ended and run.state in _WITH_RESULT]
    costs = await access.costs.of_runs(access.client, ended) if ended else {}
    stats = run_stats(runs, costs)
    kept = (
        ()
        if not may_view
        else await asyncio.to_thread(kept_reports, access.settings, page.plan.name)
    )
    may_start = isinstance(may(identity, (Role.STARTER,), team), Allowed)
    fields = page.form if typed is None else typed
    return page, TeamActions(may_start, fields, id, lines, stats, eval_lines(kept))


def _team_page(settings: Settings, team: str, identity: Identity) -> TeamPage:
    catalog = Catalog(settings)
    located = catalog.named(team)
    if located is None:
        raise unknown_team(catalog.names(), team, identity)
    return team_page(settings, located)


async def _latest(access: RunAccess, team: str, identity: Identity) -> RunListing | None:
    """Return the latest runs of a team; None if nobody answers."""
    operation = operation_named("list")
    try:
        asked = operation.input.model_validate({"team": team, "limit": _LATEST})
        return cast("RunListing", await perform(access, operation, asked, identity))
    except Unanswered:
        return None
