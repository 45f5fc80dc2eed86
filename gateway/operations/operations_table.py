"""The table of operations: REST, OpenAPI, role checks, docs and tests come from it."""

from typing import TypeVar

from coterie.dsl.values import Frozen, Json
from coterie.gateway.identity.identity import Identity
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
from coterie.gateway.operations.performance import perform
from coterie.gateway.operations.run_access import RunAccess

Output = TypeVar("Output", bound=Frozen)

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


async def performed(
    access: RunAccess, name: str, asked: Json, identity: Identity, output: type[Output]
) -> Output:
    """Perform an operation by its name as an identity; return its output, of the type that it has.

    Raises:
        ValidationError: The input does not fit.
        CommandError: The identity may not, the run refuses, or nobody answers.
    """
    operation = operation_named(name)
    answer = await perform(access, operation, operation.input.model_validate(asked), identity)
    assert isinstance(answer, output)
    return answer
