"""What becomes known of a call while it is in progress, before its answer.

The transport sees how a server takes a request; the SDK reports only a number of its own for it.
The variable travels with the request, because the SDK sends it in the context of its caller.
"""

from collections import Counter
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal

from coterie.activities.mcp_client.call_outcomes import InputAsked
from coterie.dsl.values import Json

Acceptance = Literal["unknown", "unreached", "refused"]
"""What the transport knows: nothing; that the server never had the call; that it turned it away."""

_BUSY = 429
_NO_SESSION = 404
_REFUSALS = (401, 403, 405, 413, 415)
"""HTTP statuses of a request that no tool has seen."""


@dataclass(slots=True, eq=False)
class CallInProgress:
    """One call."""

    acceptance: Acceptance = "unknown"
    status: int | None = None
    """The HTTP status with which the server turned the call away."""
    answers: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """For the questions that a server of an older protocol asks within the call."""
    asked: Counter[str] = field(default_factory=Counter[str])
    """How often it has asked each question."""
    question: InputAsked | None = None
    """What it asked within the call, or within one beside it, and got no answer to."""

    def note_unconnected(self) -> None:
        """Note that no connection was made."""
        self.acceptance = "unreached"

    def note_repeated(self) -> None:
        """Note that the request is sent again, with another token."""
        self.acceptance, self.status = "unknown", None

    def note_status(self, status: int, *, in_session: bool) -> None:
        """Note the HTTP status of the answer.

        Args:
            status: Of the answer.
            in_session: Whether the request named a session; without it, 404 has other meanings.
        """
        if status == _BUSY or (status == _NO_SESSION and in_session):
            self.acceptance, self.status = "unreached", status
        elif status in _REFUSALS:
            self.acceptance, self.status = "refused", status


CURRENT_CALL: ContextVar[CallInProgress | None] = ContextVar("current_call", default=None)
"""The call of this task; None for everything else that is sent."""
