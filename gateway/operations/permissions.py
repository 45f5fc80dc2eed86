"""Who may do what: a pure decision over the grants of an identity. What is not granted is refused.

Each role is granted by itself: an operator who shall see runs is a viewer, too.
"""

from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase

from coterie.deployed.version_references import reference_of
from coterie.dsl.errors import listed
from coterie.dsl.visible import shortened_text
from coterie.gateway.identity.identity import Identity, Role


@dataclass(frozen=True, slots=True)
class Allowed:
    """The identity may."""


@dataclass(frozen=True, slots=True)
class Denied:
    """The identity may not."""

    because: str
    is_unseen: bool = False
    """Whether no role lets it know that the team has runs."""


ALLOWED = Allowed()


def may(identity: Identity, roles: Collection[Role], team: str | None) -> Allowed | Denied:
    """Decide whether an identity may perform an operation.

    Args:
        identity: Who asks.
        roles: Those that the operation takes; one of them is enough.
        team: The team that it is about, or a version of it; None if it is about none, so that any
            grant counts.
    """
    team = None if team is None else reference_of(team).team
    seen = [grant for grant in identity.grants if team is None or fnmatchcase(team, grant.teams)]
    if any(grant.role in roles for grant in seen):
        return ALLOWED
    wanted = " or ".join(sorted(roles))
    who = shortened_text(identity.name or identity.subject, 100)
    if not identity.grants:
        return Denied(f"{who} has no role here; this needs the role {wanted}", is_unseen=True)
    about = "" if team is None else f" for the team {shortened_text(team, 100)!r}"
    held = listed(sorted({grant.role for grant in seen})) or "none"
    return Denied(f"this needs the role {wanted}{about}; {who} has: {held}", is_unseen=not seen)
