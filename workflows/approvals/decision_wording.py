"""Texts of refused decisions: what is wrong, then what is allowed or what to do."""

from typing import assert_never

from coterie.dsl.errors import listed
from coterie.workflows.approvals.decision_refusals import (
    AlreadyApproved,
    DeciderNotAllowed,
    DecisionRefusal,
    DigestMissing,
    FailedTaskApproved,
    PayloadRefused,
    RequestChanged,
    RequestClosed,
    RequestUnknown,
)

_MAX_NAME_LENGTH = 120


def decision_refusal_text(refusal: DecisionRefusal) -> str:
    """Return the refusal as a sentence."""
    request = _shown_text(refusal.request)
    match refusal:
        case RequestClosed(decision=earlier):
            return f"{request} is closed: {earlier.by} {earlier.verdict} it at {earlier.at}"
        case RequestUnknown(pending=pending):
            return f"nothing waits under {request}; pending: {listed(pending)}"
        case DeciderNotAllowed(by=by, approvers=approvers):
            return f"{by!r} may not decide {request}; allowed: {listed(approvers)}"
        case FailedTaskApproved():
            return (
                f"{request} asks what to do about a failed task; decide `retry` or `skip`, or "
                "reject it, which lets it fail"
            )
        case RequestChanged(named=named, digest=digest):
            return (
                f"{request} has changed: its digest is {digest!r}, not {_shown_text(named)}; "
                "look at it again"
            )
        case AlreadyApproved(by=by, approved_by=approved_by, quorum=quorum):
            count = f"{len(approved_by)} of {quorum}"
            return f"{by} has already approved {request}; {count} people have approved it"
        case DigestMissing(edited=edited):
            reason = "has changed since it opened" if edited else "has `digest: required`"
            return (
                f"{request} {reason}; look at it with `coterie show`, and send the `digest` of "
                "what you decide"
            )
        case PayloadRefused(message=message):
            return message
        case _:
            assert_never(refusal)


def shown_value_invalid(problem: str) -> str:
    """Word the approval of a value that is invalid unchanged."""
    return f"{problem}; approve it with a changed `payload`"


def not_editable(request: str) -> str:
    """Word a change that the request does not allow."""
    return f"the value that {request!r} shows cannot be changed; it lacks `editable: true`"


def rejected_with_payload() -> str:
    """Word a rejection with a value."""
    return "a rejection does not change the value shown; omit `payload`"


def _shown_text(text: str) -> str:
    return repr(text if len(text) <= _MAX_NAME_LENGTH else f"{text[:_MAX_NAME_LENGTH]}...")
