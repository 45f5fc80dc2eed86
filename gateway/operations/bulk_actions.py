"""One action on many runs: what it would touch, its start, and what came of each run.

The action is a workflow of its own, so it survives the gateway that started it. The role is checked
for each run; a run that has changed since the preview is skipped and named.
"""

import asyncio
from typing import Literal

from pydantic import Field

from coterie.control.bulk_runs import bulk_progress, start_bulk
from coterie.dsl.values import Documented
from coterie.failures import CommandError
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.operations.error_reports import unknown_run
from coterie.gateway.operations.operation import (
    AnyOperation,
    Digest,
    Name,
    Operation,
    RunId,
    Why,
)
from coterie.gateway.operations.permissions import Allowed, Denied, may
from coterie.gateway.operations.request_decisions import approver_name
from coterie.gateway.operations.run_access import FoundRun, RunAccess
from coterie.gateway.operations.run_listing import RunFilterAsked
from coterie.gateway.operations.run_permissions import identity_name, require_run, trail_name
from coterie.gateway.operations.run_search import Looked, found_rows
from coterie.runs.call_errors import Unanswered, UnknownRun
from coterie.runs.run_client import Run
from coterie.workflows.core.bulk_messages import (
    MAX_BULK_ITEMS,
    BulkAction,
    BulkInput,
    BulkItem,
    BulkOutcome,
)
from coterie.workflows.core.messages import DecideInput, RetryInput

_ROLES = (Role.OPERATOR, Role.APPROVER)
_AT_ONCE = 20


class BulkPreviewAsked(RunFilterAsked):
    """The input of `preview_bulk`: `retry` takes failed runs, `cancel` open ones."""

    action: Literal["retry", "cancel"]


class BulkChoice(Documented):
    """One run, as it was in the preview; with `decide`, one of its requests."""

    run: RunId
    run_id: RunId
    """Of its latest execution then."""
    is_open: bool
    request: Name | None = None
    """With `decide`: the id of the request."""
    digest: Digest | None = None
    """With `decide`: the digest of the request as you saw it."""


class PreviewedRun(BulkChoice):
    """One run that the action would touch."""

    team: str
    state: str


class BulkPreview(Documented):
    """What a bulk action would touch; nothing is done yet."""

    action: BulkAction
    runs: tuple[PreviewedRun, ...]
    withheld: int
    """Runs of teams for which you have a role, but which you may not act on, or not read for the
    filter."""
    read: int | None = None
    """With `cost_over` or `contains`: how many runs were read for it. Older ones were not."""


class BulkAsked(Documented):
    """The input of `bulk`."""

    action: BulkAction
    runs: tuple[BulkChoice, ...] = Field(min_length=1, max_length=MAX_BULK_ITEMS)
    """From the preview; with `decide`, from `requests`."""
    decision: Literal["approve", "reject"] | None = None
    """With `decide`."""
    why: Why = ""
    """The reason, kept in the trail of each run."""


class StartedBulk(Documented):
    """A bulk action that has begun."""

    bulk: str | None
    """Its id; None if you may act on none of the runs."""
    accepted: int
    refused: tuple[BulkOutcome, ...]
    """Runs on which you may not act, or that do not answer."""


class BulkProgressAsked(Documented):
    """The input of `bulk_progress`."""

    bulk: RunId
    """The id of the bulk action."""


class BulkProgress(Documented):
    """What came of a bulk action so far."""

    bulk: str
    action: BulkAction
    by: str
    why: str
    total: int
    is_finished: bool
    outcomes: tuple[BulkOutcome, ...]
    """Of the runs that you may see."""


async def _preview(access: RunAccess, asked: BulkPreviewAsked, identity: Identity) -> BulkPreview:
    state = asked.state or ("failed" if asked.action == "retry" else "open")
    wanted = asked.model_copy(update={"state": state}).filter()
    runs: list[PreviewedRun] = []
    withheld, looked, search = 0, Looked(), asked.search
    needed = (Role.OPERATOR, Role.VIEWER) if search.reads_runs else (Role.OPERATOR,)

    def allows(team: str) -> bool:
        nonlocal withheld
        decisions = [may(identity, (role,), team) for role in needed]
        denied = [one for one in decisions if isinstance(one, Denied)]
        withheld += any(not one.is_unseen for one in denied)
        return not denied

    async for found in found_rows(access, wanted, search, allows, looked, MAX_BULK_ITEMS):
        if found is None:
            continue
        row = found.row
        runs.append(
            PreviewedRun(
                run=row.id,
                run_id=row.run_id,
                is_open=row.ended is None,
                team=row.plan,
                state=row.state,
            )
        )
    return BulkPreview(
        action=asked.action,
        runs=tuple(runs),
        withheld=withheld,
        read=looked.read if search.reads_runs else None,
    )


async def _start(access: RunAccess, asked: BulkAsked, identity: Identity) -> StartedBulk:
    slots = asyncio.Semaphore(_AT_ONCE)

    async def item_or_refusal(choice: BulkChoice) -> BulkItem | BulkOutcome:
        async with slots:
            try:
                return await _item(access, asked, choice, identity)
            except CommandError as error:
                effect = "unanswered" if isinstance(error, Unanswered) else "refused"
                return BulkOutcome(
                    run=choice.run, request=choice.request, effect=effect, because=str(error)
                )

    found = await asyncio.gather(*map(item_or_refusal, asked.runs))
    items = tuple(item for item in found if isinstance(item, BulkItem))
    refused = tuple(outcome for outcome in found if isinstance(outcome, BulkOutcome))
    if not items:
        return StartedBulk(bulk=None, accepted=0, refused=refused)
    bulk = BulkInput(action=asked.action, items=items, by=identity_name(identity), why=asked.why)
    queue = access.settings.task_queue
    id = await start_bulk(access.client, bulk, task_queue=queue)
    return StartedBulk(bulk=id, accepted=len(items), refused=refused)


async def _item(
    access: RunAccess, asked: BulkAsked, choice: BulkChoice, identity: Identity
) -> BulkItem:
    """Return what to do with a run, signed where the run demands it.

    Raises:
        CommandError: The identity may not, or the choice does not say what to decide.
    """
    role = Role.APPROVER if asked.action == "decide" else Role.OPERATOR
    found = await require_run(access, choice.run, (role,), identity)
    item = BulkItem(run=choice.run, run_id=choice.run_id, team=found.team, is_open=choice.is_open)
    match asked.action:
        case "cancel":
            return item
        case "retry":
            retry = await _retry_input(access, found, asked, identity)
            return item.model_copy(update={"retry": retry})
        case "decide":
            decision = await _decide_input(access, found.run, asked, choice, identity)
            return item.model_copy(update={"decision": decision})


async def _retry_input(
    access: RunAccess, found: FoundRun, asked: BulkAsked, identity: Identity
) -> RetryInput:
    by = trail_name(identity, found.team)
    if found.is_open:
        found.run.signer = access.signer(by, identity)
    return await found.run.with_proof(RetryInput(by=by, why=asked.why))


async def _decide_input(
    access: RunAccess, run: Run, asked: BulkAsked, choice: BulkChoice, identity: Identity
) -> DecideInput:
    if asked.decision is None or choice.request is None or choice.digest is None:
        raise CommandError("`decide` needs `decision`, and `request` and `digest` of each run")
    decide_input = DecideInput(
        id=choice.request,
        decision=asked.decision,
        by=approver_name(identity),
        comment=asked.why,
        digest=choice.digest,
    )
    run.signer = access.signer(identity.approver, identity)
    return await run.with_proof(decide_input, choice.request)


async def _progress(
    access: RunAccess, asked: BulkProgressAsked, identity: Identity
) -> BulkProgress:
    try:
        report = await bulk_progress(access.client, asked.bulk)
    except UnknownRun:
        raise unknown_run(asked.bulk) from None
    roles = (*_ROLES, Role.VIEWER)
    seen = {team for team in report.teams if isinstance(may(identity, roles, team), Allowed)}
    if not seen:
        raise unknown_run(asked.bulk)
    outcomes = tuple(outcome for outcome in report.outcomes if outcome.team in seen)
    return BulkProgress(
        bulk=asked.bulk,
        action=report.action,
        by=report.by,
        why=report.why,
        total=report.total,
        is_finished=report.is_finished,
        outcomes=outcomes,
    )


OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(
        "preview_bulk",
        "Lists the runs that an action on many would touch; does nothing.",
        "GET",
        "/bulk",
        (Role.OPERATOR,),
        "teams",
        BulkPreviewAsked,
        BulkPreview,
        _preview,
        is_noted=True,
    ),
    Operation(
        "bulk",
        "Retries or cancels many runs, or decides many requests, as a run of its own.",
        "POST",
        "/bulk",
        _ROLES,
        "teams",
        BulkAsked,
        StartedBulk,
        _start,
    ),
    Operation(
        "bulk_progress",
        "Returns what came of an action on many runs, run by run.",
        "GET",
        "/bulk/{bulk}",
        (*_ROLES, Role.VIEWER),
        "teams",
        BulkProgressAsked,
        BulkProgress,
        _progress,
    ),
)
