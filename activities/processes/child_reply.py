"""The reply of a child process to one call."""

from typing import Generic, TypeVar

from coterie.dsl.values import Frozen

AnyOutcome = TypeVar("AnyOutcome")


class Reply(Frozen, Generic[AnyOutcome]):
    """A child's reply to one call."""

    outcome: AnyOutcome
    processes: int = 0
    """Processes that the code started and left behind."""
