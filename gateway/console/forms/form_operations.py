"""Perform operations by name, for forms and the pages that they lead to."""

from typing import TypeVar, cast

from coterie.dsl.values import Frozen, Json
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.operations_table import operation_named
from coterie.gateway.operations.performance import perform
from coterie.gateway.operations.run_access import RunAccess

Output = TypeVar("Output", bound=Frozen)


async def performed(
    access: RunAccess, name: str, asked: Json, identity: Identity, output: type[Output]
) -> Output:
    """Perform an operation as an identity; return its output, of the type that it has.

    Raises:
        ValidationError: The input does not fit.
        CommandError: The identity may not, the run refuses, or nobody answers.
    """
    operation = operation_named(name)
    assert operation.output is output
    answer = await perform(access, operation, operation.input.model_validate(asked), identity)
    return cast("Output", answer)
