"""Refuse what an identity may not do with a run."""

from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager

from coterie.dsl.json_values import json_digest
from coterie.dsl.reserved_ids import reserved_prefix
from coterie.dsl.sizes import MAX_BY_LENGTH
from coterie.dsl.visible import shortened_text
from coterie.failures import CommandError
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.operations.error_reports import ANOTHER_ID, Rejection, unknown_run
from coterie.gateway.operations.permissions import Allowed, Denied, may
from coterie.gateway.operations.run_access import FoundRun, RunAccess
from coterie.runs.new_runs import IdTaken


def require(decision: Allowed | Denied) -> None:
    """Raise `Rejection` if the identity may not."""
    if isinstance(decision, Denied):
        fix = "Ask an administrator for the role, in `access` of coterie.yml."
        raise Rejection(403, "not_allowed", decision.because, fix)


async def require_run(
    access: RunAccess, id: str, roles: Collection[Role], identity: Identity
) -> FoundRun:
    """Return a run; who has no role for its team does not learn that it exists.

    Raises:
        CommandError: The identity may not, or there is no such run.
    """
    if not identity.grants:
        require(may(identity, roles, None))
    found = await access.existing(id)
    decision = may(identity, roles, found.team)
    if isinstance(decision, Denied) and decision.is_unseen:
        raise unknown_run(id)
    require(decision)
    return found


@asynccontextmanager
async def starting_run(
    access: RunAccess, identity: Identity, id: str | None
) -> AsyncGenerator[None]:
    """Refuse an id that is reserved or taken; who may not see the run that has it learns no more.

    Args:
        access: The runs.
        identity: Who starts a run.
        id: As the client names it; None: it is generated.

    Raises:
        CommandError: It is reserved, or something has it already.
    """
    prefix = reserved_prefix(id or "")
    if prefix is not None:
        message = f"ids that begin with {prefix!r} are reserved"
        raise Rejection(422, "reserved_id", message, ANOTHER_ID)
    try:
        yield
    except IdTaken as taken:
        if await _is_seen(access, taken.id, identity):
            raise
        message = f"the id {taken.id!r} is taken"
        raise Rejection(409, "id_taken", message, ANOTHER_ID) from None


async def _is_seen(access: RunAccess, id: str, identity: Identity) -> bool:
    try:
        found = await access.find(id)
    except CommandError:
        return False
    if found is None:
        return False
    decision = may(identity, tuple(Role), found.team)
    return isinstance(decision, Allowed)


def update_id(identity: Identity, message: str | None) -> str | None:
    """Return the id of the update for a message of an identity; None if the message has no id.

    The same id of somebody else is another update, so that no vote is lost.
    """
    if message is None:
        return None
    return f"sent-{json_digest(identity.method, identity.subject, message)[:32]}"


def trail_name(identity: Identity, team: str) -> str:
    """Return the name under which the trail of a run records what an identity does.

    Only who may decide requests has the name of an approver: a run compares it with the approvers
    of a step that somebody skips.
    """
    if identity.approver and isinstance(may(identity, (Role.APPROVER,), team), Allowed):
        return shortened_text(identity.approver, MAX_BY_LENGTH)
    return identity_name(identity)


def identity_name(identity: Identity) -> str:
    """Return who an identity is, and how we know: never the name of an approver."""
    suffix = f" ({identity.method})"
    return f"{shortened_text(identity.subject, MAX_BY_LENGTH - len(suffix))}{suffix}"
