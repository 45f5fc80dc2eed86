"""Verified identities: who asks, how we know, and what they may do."""

from enum import StrEnum
from typing import Literal

from coterie.dsl.sizes import MAX_BY_LENGTH
from coterie.dsl.values import Frozen
from coterie.dsl.visible import shortened_text

Method = Literal["local", "oidc", "client", "token", "slack"]
"""How an identity was verified: by the one-time link of this machine, by sign-in at an OIDC
provider, by an access token that the provider gave a program, by a token of `coterie tokens`, or by
Slack, whose users the settings map."""


class Role(StrEnum):
    """What an identity may do with the runs of a team; each role is granted by itself."""

    VIEWER = "viewer"
    STARTER = "starter"
    OPERATOR = "operator"
    """Steers, retries, forks and cancels runs."""
    APPROVER = "approver"
    ADMIN = "admin"


class Grant(Frozen):
    """One role for the teams whose names match a pattern."""

    role: Role
    teams: str = "*"
    """A shell pattern (`fnmatch`)."""


class Identity(Frozen):
    """One verified person or program."""

    subject: str
    """Its stable name: the provider's `sub`, the name of a token, or `local user NAME`."""
    method: Method
    name: str = ""
    """What people call it; empty: as `subject`."""
    approver: str = ""
    """The name with which it decides requests; empty: it decides none."""
    groups: tuple[str, ...] = ()
    grants: tuple[Grant, ...] = ()
    expires: float | None = None
    """When its session or token ends, in seconds since the epoch; None: never."""


def deciding_name(subject: str, approver: str) -> str:
    """Return the name with which an identity decides; empty if it is its subject, or none."""
    return "" if approver == subject else shortened_text(approver, MAX_BY_LENGTH)
