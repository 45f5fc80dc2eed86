"""AuditLogWorkflow: keeps what belongs to no run in its history, and does nothing else."""

import hashlib
from typing import ClassVar

from temporalio import workflow

from coterie.workflows.core.audit_messages import (
    AUDIT_SIGNAL,
    AUDIT_WORKFLOW,
    AuditBatch,
    AuditLogInput,
)


@workflow.defn(name=AUDIT_WORKFLOW, failure_exception_types=[])
class AuditLogWorkflow:
    """Takes batches; continues as new before its history is long, with a hash over all of them."""

    MAX_BATCHES: ClassVar = 2_000
    """Of one history."""

    @workflow.init
    def __init__(self, earlier: AuditLogInput) -> None:
        """Continue after the earlier histories."""
        self._batches = earlier.batches
        self._head = earlier.head
        self._first = earlier.batches

    @workflow.run
    async def run(self, earlier: AuditLogInput) -> None:
        """Keep batches until the history is long enough."""
        await workflow.wait_condition(self._is_long)
        workflow.continue_as_new(AuditLogInput(batches=self._batches, head=self._head))

    def _is_long(self) -> bool:
        is_full = self._batches - self._first >= self.MAX_BATCHES
        return is_full or workflow.info().is_continue_as_new_suggested()

    @workflow.signal(name=AUDIT_SIGNAL)
    def record(self, batch: AuditBatch) -> None:
        """Keep a batch: the history has it."""
        self._batches += 1
        text = self._head + batch.model_dump_json()
        self._head = hashlib.sha256(text.encode()).hexdigest()

    @workflow.query
    def kept(self) -> AuditLogInput:
        """Return how many batches it has kept, and the hash over them."""
        return AuditLogInput(batches=self._batches, head=self._head)
