"""List the deployed versions of the project's teams."""

import asyncio
from datetime import UTC, datetime

from coterie.deployed.registry import DeployedVersion, Registry, version_named
from coterie.documents.schedule_text import NEXT_TIMES, times_in_words
from coterie.documents.schedule_times import first_times, zone_of
from coterie.dsl.model.sections.schedule_trigger import ScheduleSection
from coterie.dsl.values import Documented
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.operation import AnyOperation, Operation
from coterie.gateway.operations.permissions import Allowed, may
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.operations.run_starts import TEAM_READERS
from coterie.workflows.core.registry_messages import RegistryState, TeamRecord


class VersionsAsked(Documented):
    """The input of `versions`: nothing."""


class ListedVersion(Documented):
    """A deployed version of a team."""

    version: str
    """As a start names it: `review@3`."""
    is_current: bool
    """Whether the team's name starts it."""
    digest: str
    """SHA-256 of its content."""
    at: str
    """When it was deployed: ISO 8601, UTC."""
    by: str
    why: str


class ListedSchedule(Documented):
    """A schedule of the current version."""

    trigger: str
    times: str
    """What it says, in words."""
    next: tuple[str, ...]
    """The next times: ISO 8601, UTC; a pause and the jitter are not counted."""


class TeamVersions(Documented):
    """The versions of a team, newest first."""

    team: str
    versions: tuple[ListedVersion, ...]
    schedules: tuple[ListedSchedule, ...]
    """Of the current version."""


class VersionListing(Documented):
    """The teams that were deployed."""

    teams: tuple[TeamVersions, ...]


async def _versions(access: RunAccess, _: VersionsAsked, identity: Identity) -> VersionListing:
    state = await Registry(access.client, access.settings.task_queue).state()
    return await asyncio.to_thread(_listing, state, identity)


def _listing(state: RegistryState, identity: Identity) -> VersionListing:
    seen = [
        (team, record)
        for team, record in sorted(state.teams.items())
        if isinstance(may(identity, TEAM_READERS, team), Allowed)
    ]
    return VersionListing(
        teams=tuple(_row_of(team, record, version_named(state, team)) for team, record in seen)
    )


def _row_of(team: str, record: TeamRecord, current: DeployedVersion | None) -> TeamVersions:
    schedules = {} if current is None else current.content.schedules
    return TeamVersions(
        team=team,
        schedules=tuple(_schedule_row(name, section) for name, section in schedules.items()),
        versions=tuple(
            ListedVersion(
                version=f"{team}@{version.number}",
                is_current=version.number == record.current,
                digest=version.digest,
                at=version.deployed.at,
                by=version.deployed.by,
                why=version.deployed.why,
            )
            for version in reversed(record.versions)
        ),
    )


def _schedule_row(name: str, section: ScheduleSection) -> ListedSchedule:
    zone = zone_of(section.time_zone)
    times = [] if zone is None else first_times(section, zone, datetime.now(UTC), NEXT_TIMES)
    return ListedSchedule(
        trigger=name,
        times=times_in_words(section),
        next=tuple(time.astimezone(UTC).isoformat() for time in times),
    )


OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(
        "versions",
        "Lists the deployed versions and the schedules of the teams that you may see or start.",
        "GET",
        "/versions",
        TEAM_READERS,
        "teams",
        VersionsAsked,
        VersionListing,
        _versions,
    ),
)
