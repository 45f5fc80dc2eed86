"""Texts of refused decisions: what is wrong, then what is allowed or what to do."""

from collections.abc import Collection

from dsl.errors import listed
from workflows.core.requests import Decision, Pending

_MAX_NAME_LENGTH = 120


def request_closed(id: str, earlier: Decision) -> str:
    """Word `RequestClosed`."""
    return f"{_shown(id)} is closed: {earlier.by} {earlier.verdict} it at {earlier.at}"


def request_unknown(id: str, waiting: Collection[str]) -> str:
    """Word `UnknownRequest`."""
    return f"nothing waits under {_shown(id)}; pending: {listed(waiting)}"


def not_allowed(request: Pending, by: str) -> str:
    """Word `NotAllowed`."""
    return f"{by!r} may not decide {_shown(request.id)}; allowed: {listed(request.approvers)}"


def failed_step_approved(request: Pending) -> str:
    """Word `NoApproval`."""
    return (
        f"{_shown(request.id)} asks what to do about a failed task; decide `retry` or `skip`, or "
        "reject it, which lets it fail"
    )


def request_changed(request: Pending, digest: str) -> str:
    """Word `RequestChanged`."""
    return (
        f"{_shown(request.id)} has changed: its digest is {request.digest!r}, not "
        f"{_shown(digest)}; look at it again"
    )


def already_approved(request: Pending, by: str) -> str:
    """Word `AlreadyApproved`."""
    count = f"{len(request.approved_by)} of {request.quorum}"
    return f"{by} has already approved {_shown(request.id)}; {count} people have approved it"


def digest_required(request: Pending) -> str:
    """Word `DigestRequired`."""
    reason = "has changed since it opened" if request.edited else "has `digest: required`"
    return (
        f"{_shown(request.id)} {reason}; look at it with `coterie show`, and send the `digest` of "
        "what you decide"
    )


def shown_value_invalid(problem: str) -> str:
    """Word `BadPayload` for an approval of a value that is invalid unchanged."""
    return f"{problem}; approve it with a changed `payload`"


def not_editable(request: Pending) -> str:
    """Word `BadPayload` for a change that the request does not allow."""
    return f"the value that {request.id!r} shows cannot be changed; it lacks `editable: true`"


def rejected_with_payload() -> str:
    """Word `BadPayload` for a rejection with a value."""
    return "a rejection does not change the value shown; omit `payload`"


def _shown(text: str) -> str:
    return repr(text if len(text) <= _MAX_NAME_LENGTH else f"{text[:_MAX_NAME_LENGTH]}...")
