"""Bulk actions: what one is asked to do, and what came of it, run by run."""

from typing import Literal

from pydantic import Field

from coterie.dsl.values import Frozen
from coterie.workflows.core.messages import By, DecideInput, RetryInput, Why
from coterie.workflows.core.senders import Sender

BULK_WORKFLOW = "BulkActionWorkflow"
ACT_ON_RUN = "act_on_run"
"""The activity that acts on one run."""
MAX_BULK_ITEMS = 1_000

BulkAction = Literal["retry", "cancel", "decide"]
"""`retry`: a failed run continues in another one where it failed; `decide`: one request."""
BulkEffect = Literal["done", "skipped", "refused", "unanswered"]
"""`skipped`: the run has changed since somebody chose it; `unanswered`: it may have its effect."""


class BulkItem(Frozen):
    """One run, as it was when somebody chose it."""

    run: str
    run_id: str
    """Of its latest execution then."""
    team: str = ""
    """The team that was started."""
    is_open: bool
    retry: RetryInput | None = None
    """With `retry`."""
    decision: DecideInput | None = None
    """With `decide`: the decision of one request, with its digest, signed where runs demand it."""


class BulkInput(Frozen):
    """How a bulk action starts."""

    action: BulkAction
    items: tuple[BulkItem, ...] = Field(max_length=MAX_BULK_ITEMS)
    by: By = "unknown"
    why: Why = ""
    sender: Sender | None = None
    """Who began the action: the sender of what it does to each run."""


class BulkStep(Frozen):
    """What the activity does."""

    bulk: str
    """The id of the bulk action, which makes the step do its work once."""
    number: int
    action: BulkAction
    item: BulkItem
    by: By = "unknown"
    why: Why = ""
    sender: Sender | None = None


class BulkOutcome(Frozen):
    """What came of one run."""

    run: str
    team: str = ""
    request: str | None = None
    """With `decide`."""
    effect: BulkEffect
    because: str = ""
    new_run: str | None = None
    """With `retry`: the run that continues."""


class BulkReport(Frozen):
    """The progress of a bulk action: the answer of its query `progress`, and its result."""

    action: BulkAction
    by: str
    why: str
    total: int
    teams: tuple[str, ...] = ()
    """Those of the items, each once."""
    outcomes: tuple[BulkOutcome, ...]
    """In the order of the items."""

    @property
    def is_finished(self) -> bool:
        """Whether every item has an outcome."""
        return len(self.outcomes) == self.total
