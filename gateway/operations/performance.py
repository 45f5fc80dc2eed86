"""Perform an operation: check who asks, then let its handler answer, within a time."""

import asyncio
from collections.abc import Collection, Generator
from contextlib import contextmanager
from typing import TypeVar, cast

from temporalio.service import RPCError

from coterie.audit.sent_records import audit_record
from coterie.dsl.values import Frozen
from coterie.failures import CommandError
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.operations.error_reports import Rejection, failed_request
from coterie.gateway.operations.operation import MAX_SECONDS, Operation, RunAsked, TeamAsked
from coterie.gateway.operations.permissions import may
from coterie.gateway.operations.run_access import FoundRun, RunAccess
from coterie.gateway.operations.run_permissions import require, require_run
from coterie.runs.call_errors import Unanswered

Input = TypeVar("Input", bound=Frozen)
Output = TypeVar("Output", bound=Frozen)


async def perform(
    access: RunAccess, operation: Operation[Input, Output], asked: Input, identity: Identity
) -> Output:
    """Return the answer of an operation.

    Raises:
        CommandError: The identity may not perform it, the run refuses, or nobody answers.
    """
    with _noted_refusals(access, operation.name, changes=operation.changes_something):
        output = await _perform(access, operation, asked, identity)
    if operation.is_noted:
        access.audit.note(audit_record("previewed", operation.name))
    return output


async def permitted_run(
    access: RunAccess,
    id: str,
    roles: Collection[Role],
    identity: Identity,
    asked: str,
    *,
    changes: bool = False,
) -> FoundRun:
    """Return a run outside an operation; the audit log has the refusals that it has of operations.

    Args:
        access: The runs.
        id: The run.
        roles: One of them is enough.
        identity: Who asks.
        asked: What the audit log says was refused.
        changes: Whether it does more than read.

    Raises:
        CommandError: The identity may not, or there is no such run.
    """
    with _noted_refusals(access, asked, changes=changes):
        return await require_run(access, id, roles, identity)


def permitted_team(
    access: RunAccess, team: str, roles: Collection[Role], identity: Identity, asked: str
) -> None:
    """Refuse an identity that lacks one of several roles for a team; the audit log has that.

    Args:
        access: The runs.
        team: The team.
        roles: All of them are needed.
        identity: Who asks.
        asked: What the audit log says was refused.

    Raises:
        CommandError: It lacks one.
    """
    with _noted_refusals(access, asked, changes=True):
        for role in roles:
            require(may(identity, (role,), team))


@contextmanager
def _noted_refusals(access: RunAccess, asked: str, *, changes: bool) -> Generator[None]:
    try:
        yield
    except CommandError as error:
        code = failed_request(error).report.code
        if changes or code == "not_allowed":
            access.audit.note(audit_record("refused", asked, code))
        raise


async def _perform(
    access: RunAccess, operation: Operation[Input, Output], asked: Input, identity: Identity
) -> Output:
    try:
        async with asyncio.timeout(MAX_SECONDS):
            await _check(access, operation, asked, identity)
            return await operation.handler(access, asked, identity)
    except RPCError as error:
        raise Unanswered(f"the Temporal server does not answer ({error.message})") from None
    except TimeoutError:
        raise Rejection(
            504,
            "too_slow",
            f"{operation.name} took longer than {MAX_SECONDS:g} seconds",
            "Look at the run before you repeat the request: it may have had its effect.",
        ) from None


async def _check(
    access: RunAccess, operation: Operation[Input, Output], asked: Input, identity: Identity
) -> None:
    """Refuse what the identity may not do."""
    roles = operation.roles
    match operation.about:
        case "project" | "teams":  # the handler decides about each team
            require(may(identity, roles, None))
        case "team":
            require(may(identity, roles, cast("TeamAsked", asked).team))
        case "run":
            await require_run(access, cast("RunAsked", asked).run, roles, identity)
