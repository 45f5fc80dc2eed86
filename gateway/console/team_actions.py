"""What the reader of a team's page may do with the team, and how its runs went."""

import asyncio
from dataclasses import dataclass
from typing import cast

from coterie.documents.catalog import Catalog
from coterie.gateway.console.fields.form_fields import FormField
from coterie.gateway.console.runs_page import RunLine, runs_page
from coterie.gateway.console.team_page import RunStats, TeamPage, run_stats, team_page
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


@dataclass(frozen=True, slots=True)
class TeamActions:
    """What a reader may do with one team."""

    may_start: bool
    fields: tuple[FormField, ...]
    id: str
    """Of the run to start, as it was typed."""
    runs: tuple[RunLine, ...]
    stats: RunStats


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
    listing = await _latest(access, team, identity)
    lines = runs_page(listing, ListAsked()).runs
    may_start = isinstance(may(identity, (Role.STARTER,), team), Allowed)
    fields = page.form if typed is None else typed
    return page, TeamActions(may_start, fields, id, lines, run_stats(listing.runs))


def _team_page(settings: Settings, team: str, identity: Identity) -> TeamPage:
    catalog = Catalog(settings)
    located = catalog.named(team)
    if located is None:
        raise unknown_team(catalog, team, identity)
    return team_page(settings, located)


async def _latest(access: RunAccess, team: str, identity: Identity) -> RunListing:
    """Return the latest runs of a team; none for who may not see them, or if nobody answers."""
    if not isinstance(may(identity, (Role.VIEWER,), team), Allowed):
        return RunListing(runs=(), more=False)
    operation = operation_named("list")
    try:
        asked = operation.input.model_validate({"team": team, "limit": _LATEST})
        return cast("RunListing", await perform(access, operation, asked, identity))
    except Unanswered:
        return RunListing(runs=(), more=False)
