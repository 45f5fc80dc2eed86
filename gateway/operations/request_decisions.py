"""List the requests that wait for people, and decide them.

The client sends no name: the verified identity decides.
"""

from dataclasses import replace
from typing import Literal

from pydantic import Field, JsonValue

from coterie.dsl.person_names import is_among
from coterie.dsl.sizes import MAX_BY_LENGTH
from coterie.dsl.values import Documented
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.operations.operation import (
    AnyOperation,
    Digest,
    MessageId,
    Name,
    Operation,
    RunAsked,
    RunId,
    Why,
)
from coterie.gateway.operations.permissions import Allowed, may
from coterie.gateway.operations.run_access import FoundRun, RunAccess
from coterie.gateway.operations.run_permissions import require_run, update_id
from coterie.inspection.open_requests import requests_in, requests_in_all
from coterie.rendering.request_text import PendingOfRun
from coterie.runs.run_client import Run
from coterie.runs.run_list import open_executions
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.requests import Decision, Pending

_READERS = (Role.VIEWER, Role.APPROVER)
_MAX_RUNS = 500


class RequestsAsked(Documented):
    """The input of `requests`."""

    run: RunId | None = None
    """Only the requests of this run. Default: of all open runs."""
    limit: int = Field(default=100, ge=1, le=500)
    """At most so many requests."""


class WaitingRequest(Documented):
    """A request that waits for a person."""

    run: str
    run_id: str
    """Of its latest execution, for `bulk`."""
    team: str
    """The team that was started."""
    request: Pending
    """With `cut`, a part of it is too large for a list: ask for the requests of its run."""
    is_served: bool
    """Whether a worker would accept a decision now."""
    is_yours: bool
    """Whether you may decide it, by your role and your name."""
    diff: tuple[str, ...] = ()
    """Lines of the diff of what the call would commit; only where the files are."""


class WaitingRequests(Documented):
    """The requests that wait, by run, latest run first."""

    requests: tuple[WaitingRequest, ...]
    silent: tuple[str, ...] = ()
    """Open runs for which no worker answers."""
    more: bool = False
    """Whether there are further ones."""


class DecisionAsked(RunAsked):
    """The input of `decide`."""

    request: Name
    """The id of the request."""
    decision: Literal["approve", "reject"]
    digest: Digest
    """The digest of the request as you saw it. If it has changed since, nothing is decided."""
    comment: Why = ""
    payload: JsonValue = None
    """Replacement for the shown value of an `editable` request. An explicit null counts."""
    message_id: MessageId | None = None
    """Sent again by you with this id, it counts once, and has the same answer."""


async def _requests(access: RunAccess, asked: RequestsAsked, identity: Identity) -> WaitingRequests:
    client, settings = access.client, access.settings
    if asked.run is not None:
        found = await require_run(access, asked.run, _READERS, identity)
        waiting = await requests_in(settings, client, found.run)
        whole = [
            replace(one, request=await found.run.whole(one.request))
            for one in waiting[: asked.limit + 1]
        ]
        rows = [_waiting_request(request, found, identity) for request in whole]
        return WaitingRequests(requests=tuple(rows[: asked.limit]), more=len(rows) > asked.limit)
    runs: list[Run] = []
    found_runs: dict[str, FoundRun] = {}
    looked_at = 0
    async for execution in open_executions(client, limit=_MAX_RUNS):
        looked_at += 1
        run = await access.find(execution.id)
        if run is not None and isinstance(may(identity, _READERS, run.team), Allowed):
            runs.append(run.run)
            found_runs[execution.id] = run
    waiting, silent = await requests_in_all(settings, client, runs)
    rows = [_waiting_request(request, found_runs[request.run], identity) for request in waiting]
    more = len(rows) > asked.limit or looked_at == _MAX_RUNS
    return WaitingRequests(requests=tuple(rows[: asked.limit]), silent=silent, more=more)


def _waiting_request(waiting: PendingOfRun, run: FoundRun, identity: Identity) -> WaitingRequest:
    request = waiting.request
    is_allowed = isinstance(may(identity, (Role.APPROVER,), run.team), Allowed)
    return WaitingRequest(
        run=waiting.run,
        team=run.team,
        request=request,
        is_served=waiting.served,
        is_yours=is_allowed and may_decide(identity, request),
        diff=request.commit,
        run_id=run.description.run_id,
    )


def may_decide(identity: Identity, request: Pending) -> bool:
    """Return whether the name of an identity may decide a request, and has not yet."""
    name = identity.approver
    if not name or is_among(name, request.approved_by):
        return False
    return not request.approvers or is_among(name, request.approvers)


def approver_name(identity: Identity) -> str:
    """Return the verified name with which an identity decides.

    Raises:
        Rejection: It has none.
    """
    if not 0 < len(identity.approver) <= MAX_BY_LENGTH:
        raise Rejection(
            403,
            "no_approver_name",
            "your sign-in gives no name with which you could decide",
            "Ask an administrator which claim names approvers, in `access` of coterie.yml.",
        )
    return identity.approver


async def _decide(access: RunAccess, asked: DecisionAsked, identity: Identity) -> Decision:
    decide_input = DecideInput(
        id=asked.request,
        decision=asked.decision,
        by=approver_name(identity),
        comment=asked.comment,
        digest=asked.digest,
    )
    if "payload" in asked.model_fields_set:
        decide_input = decide_input.model_copy(update={"payload": asked.payload})
    run = access.run(asked.run)
    run.signer = access.signer(identity.approver, identity)
    return await run.decide(decide_input, update_id=update_id(identity, asked.message_id))


OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(
        "requests",
        "Lists the requests that wait for a person, in one run or in all.",
        "GET",
        "/requests",
        _READERS,
        "teams",
        RequestsAsked,
        WaitingRequests,
        _requests,
    ),
    Operation(
        "decide",
        "Approves or rejects a request, in your verified name.",
        "POST",
        "/runs/{run}/decisions",
        (Role.APPROVER,),
        "run",
        DecisionAsked,
        Decision,
        _decide,
    ),
)
