"""Approvals: who may decide what, and what comes of it. Pure functions over RunState.

A request is bound to its visit and to a digest of what it shows, so an old decision can never pass
a later round. Whatever is unknown, closed or not allowed is refused, and a refusal changes nothing
(design 5).
"""

import json
from datetime import datetime
from hashlib import sha256

from pydantic import JsonValue

from dsl.errors import listed
from workflows.messages import DecideInput, Decision, How, Pending
from workflows.state import RunState


def digest_of(prompt: str, show: JsonValue) -> str:
    """What names a question and what it shows: 12 hexadecimal digits."""
    return sha256(json.dumps([prompt, show], sort_keys=True).encode()).hexdigest()[:12]


def refusal(state: RunState, asked: DecideInput) -> str | None:
    """Why this decision cannot be taken, or None when it can."""
    earlier = state.decisions.get(asked.id)
    if earlier is not None:
        return f"{asked.id!r} is closed: {earlier.by} {earlier.verdict} it at {earlier.at}"
    request = state.pending.get(asked.id)
    if request is None:
        return f"nothing waits under {asked.id!r}; pending: {listed(state.pending)}"
    if request.approvers and asked.by not in request.approvers:
        return f"{asked.by!r} may not decide {asked.id!r}; allowed: {listed(request.approvers)}"
    if asked.digest is not None and asked.digest != request.digest:
        return (
            f"{asked.id!r} shows something else by now: its digest is {request.digest!r}, not "
            f"{asked.digest!r}; look at it again"
        )
    if asked.decision == "approve" and asked.by in request.approved_by and asked.payload is None:
        count = len(request.approved_by)
        return f"{asked.by} has approved {asked.id!r} already; {count} of {request.quorum} have"
    return None if asked.payload is None else _edit_refusal(request, asked)


def _edit_refusal(request: Pending, asked: DecideInput) -> str | None:
    if not request.editable:
        return f"what {asked.id!r} shows cannot be changed: the step does not say `editable: true`"
    if asked.decision == "reject":
        return "a rejection changes nothing of what is shown; leave `payload` out"
    misfit = _misfit(request.show, asked.payload, "payload")
    return None if misfit is None else f"{misfit}; a change keeps the shape of what is shown"


def _misfit(shown: JsonValue, given: JsonValue, where: str) -> str | None:
    """Where the given value has another shape than the shown one, or None."""
    match shown, given:
        case None, _:
            return None
        case dict(), dict():
            if shown.keys() != given.keys():
                return f"{where} has the keys {listed(given)}, not {listed(shown)}"
            faults = (_misfit(shown[key], given[key], f"{where}.{key}") for key in shown)
        case list(), list():
            pattern = shown[0] if shown else None
            faults = (_misfit(pattern, one, f"{where}[{i}]") for i, one in enumerate(given))
        case _:
            kinds = _kind(shown), _kind(given)
            return None if kinds[0] == kinds[1] else f"{where} is {kinds[1]}, not {kinds[0]}"
    return next((fault for fault in faults if fault is not None), None)


def _kind(value: JsonValue) -> str:
    match value:
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case dict():
            return "a mapping"
        case None:
            return "nothing"


def record(state: RunState, asked: DecideInput, at: datetime, how: How) -> Decision:
    """Take a decision that is not refused; the request is closed, unless more have to approve."""
    request = state.pending[asked.id]
    edited = asked.payload is not None
    if edited:  # who approved before had not seen this
        show = asked.payload
        request = request.model_copy(
            update={"show": show, "digest": digest_of(request.prompt, show), "approved_by": ()}
        )
    approve = asked.decision == "approve"
    names = (*request.approved_by, asked.by) if approve else (asked.by,)
    enough = not approve or how == "deadline" or len(names) >= request.quorum
    decision = Decision(
        id=asked.id,
        verdict="rejected" if not approve else "approved" if enough else "counted",
        by=", ".join(names) if enough else asked.by,
        comment=asked.comment,
        at=at.isoformat(timespec="milliseconds"),
        how=how,
        payload=request.show if approve and request.editable else None,
    )
    if not enough:
        state.pending[asked.id] = request.model_copy(update={"approved_by": names})
        return decision
    del state.pending[asked.id]
    state.decisions[asked.id] = decision
    if approve and request.remembered_as is not None and how != "deadline":
        state.remembered[request.remembered_as] = decision
    return decision
