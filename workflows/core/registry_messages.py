"""The registry of a task queue: the deployed versions of its teams, and which one a name starts."""

from typing import Annotated, Final

from pydantic import Field

from coterie.dsl.sizes import MAX_BY_LENGTH, MAX_NAME_LENGTH, MAX_WHY_LENGTH
from coterie.dsl.values import Frozen

REGISTRY_WORKFLOW: Final = "TeamRegistryWorkflow"
DEPLOY: Final = "deploy"
SWITCH: Final = "switch"
REFUSED_CHANGE: Final = "ChangeRefused"
"""The type of the error by which the registry refuses a change."""

MAX_TEAMS: Final = 500
MAX_VERSIONS: Final = 20
"""Of one team: the oldest goes first, the current one stays."""
MAX_PACKED: Final = 200_000
"""Characters of the packed content of one version."""
MAX_CONTENTS: Final = 1_500_000
"""Characters of all contents."""
MAX_STATE: Final = 1_900_000
"""Bytes of everything that a registry keeps: it travels in one event of at most 2 MiB."""
SWITCH_RESERVE: Final = 100_000
"""Bytes of it that deployments leave: a full registry can still go back to an earlier version."""
MAX_CHANGE_WHY: Final = 500
"""Characters of the reason of a change: each version keeps its own."""

_By = Annotated[str, Field(max_length=MAX_BY_LENGTH)]
_Why = Annotated[str, Field(max_length=MAX_WHY_LENGTH)]
_Team = Annotated[str, Field(min_length=1, max_length=MAX_NAME_LENGTH)]
_Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class RegistryChange(Frozen):
    """Who changed something, when and why."""

    at: str
    """ISO 8601, UTC, by the server's clock."""
    by: str
    why: str = ""


class VersionRecord(Frozen):
    """A deployed version of a team."""

    number: int
    digest: str
    """SHA-256 of its content."""
    deployed: RegistryChange


class TeamRecord(Frozen):
    """The versions of one team."""

    current: int = 0
    """The version that its name starts; 0: none, it was removed."""
    latest: int = 0
    """The highest number so far: no number counts twice."""
    since: RegistryChange
    """Since when the current version is the current one."""
    versions: tuple[VersionRecord, ...] = ()
    """Those that are kept, oldest first."""

    def version(self, number: int) -> VersionRecord | None:
        """Return a version that is kept."""
        return next((one for one in self.versions if one.number == number), None)


class RegistryState(Frozen):
    """Everything that the registry keeps: the input of each of its histories."""

    teams: dict[str, TeamRecord] = Field(default_factory=dict[str, TeamRecord])
    contents: dict[str, str] = Field(default_factory=dict[str, str])
    """`{digest: packed content}` of the versions that are kept."""


class DeployInput(Frozen):
    """The update `deploy`: make this content the current version of a team."""

    team: _Team
    expected: Annotated[int, Field(ge=0)] = 0
    """The current version that the sender has seen; 0: none."""
    digest: _Digest
    content: Annotated[str, Field(max_length=MAX_PACKED)]
    by: _By
    why: _Why = ""


class SwitchInput(Frozen):
    """The update `switch`: make an earlier version the current one, or none."""

    team: _Team
    expected: Annotated[int, Field(ge=0)]
    """The current version that the sender has seen."""
    to: Annotated[int, Field(ge=0)]
    """The version; 0: the name starts none any more."""
    by: _By
    why: _Why = ""
