"""Ids that triggers and the host derive: who may take one swallows an event, or stops a service."""

from typing import Final

RUN_PREFIX: Final = "hook"
SCHEDULE_PREFIX: Final = "schedule/"
REGISTRY_PREFIX: Final = "coterie-registry-"
AUDIT_PREFIX: Final = "coterie-audit-"
BULK_PREFIX: Final = "coterie-bulk-"

_OF_SERVICES: Final = (REGISTRY_PREFIX, AUDIT_PREFIX, BULK_PREFIX)
"""No run has such an id, through a door, a command or a program."""
_RESERVED: Final = (f"{RUN_PREFIX}/", SCHEDULE_PREFIX, *_OF_SERVICES)


def reserved_prefix(id: str) -> str | None:
    """Return with which reserved prefix an id begins; None: people and programs may choose it."""
    return next((prefix for prefix in _RESERVED if id.startswith(prefix)), None)


def service_prefix(id: str) -> str | None:
    """Return with which prefix of a service of the host an id begins; None: a run may have it."""
    return next((prefix for prefix in _OF_SERVICES if id.startswith(prefix)), None)
