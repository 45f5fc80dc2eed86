"""BulkActionWorkflow: one action on many runs, which survives the process that started it.

It decides nothing: an activity acts on each run, and the history keeps what came of it.
"""

from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError

from coterie.activities.contracts import HEARTBEAT_TIMEOUT
from coterie.workflows.core.bulk_messages import (
    ACT_ON_RUN,
    BULK_WORKFLOW,
    BulkInput,
    BulkItem,
    BulkOutcome,
    BulkReport,
    BulkStep,
)

_AT_ONCE = 10
_STEP_TIMEOUT = timedelta(minutes=2)
_ATTEMPTS = 5


@workflow.defn(name=BULK_WORKFLOW, failure_exception_types=[Exception])
class BulkActionWorkflow:
    """Acts on a few runs at a time, in their order."""

    @workflow.init
    def __init__(self, bulk: BulkInput) -> None:
        """Begin without outcomes."""
        self._bulk = bulk
        self._outcomes: list[BulkOutcome] = []

    @workflow.run
    async def run(self, bulk: BulkInput) -> BulkReport:
        """Act on every run; return what came of each."""
        for first in range(0, len(bulk.items), _AT_ONCE):
            few = list(enumerate(bulk.items[first : first + _AT_ONCE], first))
            steps = [(item, self._begin(number, item)) for number, item in few]
            for item, step in steps:
                self._outcomes.append(await _outcome_of(item, step))
        return self.progress()

    def _begin(self, number: int, item: BulkItem) -> "workflow.ActivityHandle[BulkOutcome]":
        bulk = self._bulk
        step = BulkStep(
            bulk=workflow.info().workflow_id,
            number=number,
            action=bulk.action,
            item=item,
            by=bulk.by,
            why=bulk.why,
            sender=bulk.sender,
        )
        handle: Any = workflow.start_activity(
            ACT_ON_RUN,
            step,
            result_type=BulkOutcome,
            activity_id=f"{number:04}",
            start_to_close_timeout=_STEP_TIMEOUT,
            heartbeat_timeout=HEARTBEAT_TIMEOUT,
            retry_policy=RetryPolicy(maximum_attempts=_ATTEMPTS),
            summary=item.run,
        )
        return handle

    @workflow.query
    def progress(self) -> BulkReport:
        """Return what came of the runs so far."""
        bulk = self._bulk
        return BulkReport(
            action=bulk.action,
            by=bulk.by,
            why=bulk.why,
            total=len(bulk.items),
            teams=tuple(dict.fromkeys(item.team for item in bulk.items)),
            outcomes=tuple(self._outcomes),
        )


async def _outcome_of(item: BulkItem, step: "workflow.ActivityHandle[BulkOutcome]") -> BulkOutcome:
    try:
        return await step
    except ActivityError as error:
        request = None if item.decision is None else item.decision.id
        return BulkOutcome(
            run=item.run,
            team=item.team,
            request=request,
            effect="unanswered",
            because=str(error.cause or error),
        )
