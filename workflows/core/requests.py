"""Requests for a person's decision: while they wait, how they were decided, why one was refused."""

from typing import Final, Literal

from pydantic import JsonValue

from dsl.values import Frozen, Json

Verdict = Literal["approved", "rejected", "counted", "retried", "skipped", "failed"]

How = Literal["update", "signal", "deadline", "remembered"]


class Pending(Frozen):
    """A request that waits for a person."""

    id: str
    prompt: str
    show: JsonValue = None
    digest: str = ""
    """SHA-256 of the prompt and of what is shown, as JSON."""
    digest_required: bool = False
    """Every decision names the digest."""
    edited: bool = False
    """What is shown was changed since the request opened; a decision names its digest."""
    approvers: tuple[str, ...] = ()
    """Everyone who may decide; anyone when empty."""
    quorum: int = 1
    """How many must approve."""
    choices: tuple[str, ...] = ()
    """The decisions about a failed task; an approval has none."""
    approved_by: tuple[str, ...] = ()
    """Who has approved so far, if one is not enough."""
    editable: bool = False
    payload_schema: Json | None = None
    """JSON Schema that a change has to meet, and what is approved."""
    changes: tuple[str, ...] = ()
    """What was changed so far, and by whom: `pages: 3 -> 4 (ann)`."""
    since: str
    """ISO 8601, UTC."""
    deadline: str | None = None
    """ISO 8601, UTC."""
    on_timeout: str | None = None
    reminders: int = 0
    escalations: int = 0
    notified: bool = False
    """Whether the run has sent the first notification, if the plan names a channel."""
    stood_still: float = 0.0
    """Seconds for which the run was paused meanwhile; they do not count."""
    remembered_as: str | None = None
    """The key under which an approval answers equal requests of this run."""
    cut: bool = False
    """Whether this copy is cut: the query `request` returns the whole request."""


class Decision(Frozen):
    """A decided request, as it stays on record."""

    id: str
    verdict: Verdict
    """`counted`: an approval that is not enough yet; `retried`, `skipped` and `failed`: of a task
    that failed, or that a person left out."""
    by: str
    """Who decided; everyone who approved, where it took several."""
    comment: str = ""
    at: str
    """ISO 8601, UTC."""
    how: How
    payload: JsonValue = None
    """Where it was editable: what was shown in the end, with all changes."""
    changes: tuple[str, ...] = ()
    """What was changed, and by whom: `pages: 3 -> 4 (ann)`."""
    digest: str = ""
    """Of what was approved, where it was changed."""
    run: str | None = None
    """Of which run, where it is not this one's own: this run was forked from it afterwards."""


class RequestView(Frozen):
    """One request, whole: while it waits, or how it was decided."""

    pending: Pending | None = None
    decision: Decision | None = None


RefusalCode = Literal[
    "Malformed",
    "UnknownRequest",
    "RequestClosed",
    "NotAllowed",
    "RequestChanged",
    "AlreadyApproved",
    "BadPayload",
    "NoApproval",
    "NotYet",
    "DigestRequired",
]


MALFORMED: Final = "Malformed"
"""No decision, or no other message, at all."""
NOT_YET: Final = "NotYet"
"""The run has not begun, or is where it was only in a moment: what was said may be right."""
TOO_EARLY: Final = "the run cannot judge this yet: a worker only takes it up; send it again"
"""The message of such a refusal."""


class Refusal(Frozen):
    """Why a decision was not taken: the detail of the error that `decide` answers with."""

    code: RefusalCode
    """The type of that error too."""
    message: str
    request: str | None = None
    """The request, when there is or was one of that id."""
    decision: Decision | None = None
    """With `RequestClosed`: how it was decided."""
    pending: tuple[str, ...] = ()
    """With `UnknownRequest`: what waits."""
    approvers: tuple[str, ...] = ()
    """With `NotAllowed`: who may decide."""
    digest: str | None = None
    """With `RequestChanged`: of what is shown now."""
    approved_by: tuple[str, ...] = ()
    """With `AlreadyApproved`: who has."""
