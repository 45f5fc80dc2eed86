"""Numbers the executions of a recording before their runs see them.

The digest of a request covers the id of its execution, and a server chooses that at random. The run
gets the id that the recorded history names, so a replay of the history computes the same digests.
"""

from dataclasses import dataclass, field, replace

from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails, WorkflowRunner

from coterie.runtime.task_limit import MAX_SECONDS
from tests.replay.placeless import number_of
from tests.support.watching.prepared_sandbox import Prepared, prepared_sandbox


@dataclass
class NumberedExecutions(Prepared):
    """The sandbox of the tests, whose runs see numbered ids of their executions."""

    inner: WorkflowRunner = field(default_factory=lambda: prepared_sandbox(everything=True))
    ids: dict[str, str] = field(default_factory=dict[str, str])
    """`{id of an execution: its number}`."""
    max_task_seconds: float = MAX_SECONDS

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """Let a run see the number of its execution."""
        id = number_of(det.info.original_execution_run_id, self.ids)
        return super().create_instance(
            replace(det, info=replace(det.info, original_execution_run_id=id))
        )
