"""Unknown messages: refuses updates and queries with other names, and lists the known names.

Part of TeamWorkflow. A step may wait for a signal of any name, see
`workflows.handlers.message_handlers`. An unknown update is refused by its validator, so it adds
nothing to the history.
"""

from collections.abc import Sequence

from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

from coterie.dsl.errors import listed, nearest
from coterie.workflows.core.requests import MALFORMED

UPDATES = ("amend", "decide", "redirect", "retry", "send_message", "skip")
QUERIES = ("cost", "events", "pending", "request", "result", "state", "status")

_MAX_NAME_LENGTH = 200


def _unknown(what: str, name: str, known: Sequence[str]) -> ApplicationError:
    short = name if len(name) <= _MAX_NAME_LENGTH else f"{name[:_MAX_NAME_LENGTH]}..."
    problem = f"a run knows no {what} {short!r}; known are {listed(known)}"
    hint = nearest(short, known)
    message = f"{problem}; {hint}" if hint else problem
    return ApplicationError(message, type=MALFORMED, non_retryable=True)


class UnknownMessages:
    """Handlers of all other names."""

    @workflow.update(dynamic=True, description="Any other name; it is refused")
    async def unknown_update(self, name: str, args: Sequence[RawValue]) -> None:
        """Refuse the update; its validator has refused it before."""
        raise _unknown("update", name, UPDATES)

    @unknown_update.validator
    def _unknown_update_validator(self, name: str, args: Sequence[RawValue]) -> None:
        raise _unknown("update", name, UPDATES)

    @workflow.query(dynamic=True, description="Any other name; it is refused")
    def unknown_query(self, name: str, args: Sequence[RawValue]) -> None:
        """Refuse the query."""
        raise _unknown("query", name, QUERIES)
