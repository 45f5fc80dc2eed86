"""Refusals of decisions: `workflows.approvals.decision_wording` renders their facts for people.

The code is also the type of the error that `decide` answers with, and the fields are its detail.
"""

from dataclasses import dataclass
from typing import Literal

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
