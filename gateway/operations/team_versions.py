"""List the deployed versions of the project's teams."""

from coterie.deployed.registry import Registry
from coterie.dsl.values import Documented
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.operation import AnyOperation, Operation
from coterie.gateway.operations.permissions import Allowed, may
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.operations.run_starts import TEAM_READERS
from coterie.workflows.core.registry_messages import TeamRecord


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


class TeamVersions(Documented):
    """The versions of a team, newest first."""

    team: str
    versions: tuple[ListedVersion, ...]


class VersionListing(Documented):
    """The teams that were deployed."""

    teams: tuple[TeamVersions, ...]


async def _versions(access: RunAccess, _: VersionsAsked, identity: Identity) -> VersionListing:
    state = await Registry(access.client, access.settings.task_queue).state()
    return VersionListing(
        teams=tuple(
            _row_of(team, record)
            for team, record in sorted(state.teams.items())
            if isinstance(may(identity, TEAM_READERS, team), Allowed)
        )
    )


def _row_of(team: str, record: TeamRecord) -> TeamVersions:
    return TeamVersions(
        team=team,
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


OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(
        "versions",
        "Lists the deployed versions of the teams that you may see or start.",
        "GET",
        "/versions",
        TEAM_READERS,
        "teams",
        VersionsAsked,
        VersionListing,
        _versions,
    ),
)
