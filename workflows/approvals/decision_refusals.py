"""Refusals of decisions as facts, and their texts: what is wrong, what is allowed, what to do.

The code is also the type of the error that `decide` answers with, and the fields are its detail.
"""

from dataclasses import dataclass
from typing import Literal, assert_never

from coterie.dsl.errors import listed
from coterie.workflows.core.requests import Decision


@dataclass(frozen=True, slots=True)
class RequestClosed:
    """The request has been decided."""

    request: str
    decision: Decision
    """Without its payload: an answer stays small."""
    code: Literal["RequestClosed"] = "RequestClosed"


@dataclass(frozen=True, slots=True)
class RequestUnknown:
    """The run has no request of this id."""

    request: str
    pending: tuple[str, ...]
    """The first requests that wait."""
    code: Literal["UnknownRequest"] = "UnknownRequest"


@dataclass(frozen=True, slots=True)
class DeciderNotAllowed:
    """This person may not decide the request."""

    request: str
    by: str
    approvers: tuple[str, ...]
    code: Literal["NotAllowed"] = "NotAllowed"


@dataclass(frozen=True, slots=True)
class FailedTaskApproved:
    """An approval where a failed task waits to be retried or skipped."""

    request: str
    code: Literal["NoApproval"] = "NoApproval"


@dataclass(frozen=True, slots=True)
class RequestChanged:
    """The decision names a digest of something that the request no longer shows."""

    request: str
    named: str
    digest: str
    """Of what is shown now."""
    code: Literal["RequestChanged"] = "RequestChanged"


@dataclass(frozen=True, slots=True)
class AlreadyApproved:
    """This person's approval counts already."""

    request: str
    by: str
    approved_by: tuple[str, ...]
    quorum: int
    code: Literal["AlreadyApproved"] = "AlreadyApproved"


@dataclass(frozen=True, slots=True)
class DigestMissing:
    """The decision must name the digest of what it decides."""

    request: str
    edited: bool
    """Whether the request has changed; else its terms demand the digest."""
    code: Literal["DigestRequired"] = "DigestRequired"


@dataclass(frozen=True, slots=True)
class PayloadRefused:
    """The value that the decision gives, or keeps, is invalid."""

    request: str
    message: str
    """What is wrong, in words: most come from the checker of schemas."""
    code: Literal["BadPayload"] = "BadPayload"


DecisionRefusal = (
    RequestClosed
    | RequestUnknown
    | DeciderNotAllowed
    | FailedTaskApproved
    | RequestChanged
    | AlreadyApproved
    | DigestMissing
    | PayloadRefused
)
"""Why a run refuses a decision."""


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
