"""Ids that triggers and the host derive: who may take one swallows an event, or stops a service."""

from typing import Final

from coterie.dsl.evaluate.webhook_events import RUN_PREFIX
from coterie.workflows.core.audit_messages import AUDIT_PREFIX
from coterie.workflows.core.registry_messages import REGISTRY_PREFIX

SCHEDULE_PREFIX: Final = "schedule/"
_RESERVED: Final = (f"{RUN_PREFIX}/", SCHEDULE_PREFIX, REGISTRY_PREFIX, AUDIT_PREFIX)


def reserved_prefix(id: str) -> str | None:
    """Return with which reserved prefix an id begins; None: people and programs may choose it."""
    return next((prefix for prefix in _RESERVED if id.startswith(prefix)), None)
