"""The table of operations: REST, OpenAPI, role checks, docs and tests come from it."""

from coterie.gateway.operations import (
    bulk_actions,
    request_decisions,
    run_explanations,
    run_history,
    run_listing,
    run_parts,
    run_starts,
    run_steering,
    team_catalog,
    team_versions,
    upgrade_replays,
)
from coterie.gateway.operations.operation import AnyOperation

OPERATIONS: tuple[AnyOperation, ...] = (
    *run_listing.OPERATIONS,
    *run_parts.OPERATIONS,
    *run_history.OPERATIONS,
    *run_explanations.OPERATIONS,
    *request_decisions.OPERATIONS,
    *run_starts.OPERATIONS,
    *run_steering.OPERATIONS,
    *team_catalog.OPERATIONS,
    *team_versions.OPERATIONS,
    *upgrade_replays.OPERATIONS,
    *bulk_actions.OPERATIONS,
)
"""In the order of the docs."""


def operation_named(name: str) -> AnyOperation:
    """Return the operation of a name that exists."""
    return next(operation for operation in OPERATIONS if operation.name == name)
