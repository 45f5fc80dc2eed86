"""A workflow runner that enters the sandbox for activations only.

For every payload of every command the SDK's worker asks the run, in its sandbox, for the payload's
encoding context; each question installs and removes the sandbox's imports, a tenth of the cost of a
step. Our data converter needs no context, so nothing needs to be asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.converter import StorageDriverStoreContext, StorageDriverWorkflowInfo
from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails, WorkflowRunner
from temporalio.workflow import Info

from coterie.dsl.values import build_validators
from coterie.runtime.activation_order import OrderedActivations
from coterie.runtime.task_board import TaskBoard, run_name
from coterie.runtime.task_limit import LIMIT, MAX_SECONDS, CpuLimit, TaskOverran
from coterie.workflows.core.state import state_adapter


@dataclass(frozen=True)
class ContextFreeRunner(WorkflowRunner):
    """Wraps another runner, for data converters without serialization context."""

    inner: WorkflowRunner
    board: TaskBoard | None = None
    """Records workflow tasks for the watchdog."""
    limit: CpuLimit = LIMIT
    max_task_seconds: float = MAX_SECONDS
    """Of a workflow task by the clock: the SDK reads it (`task_limit.py`)."""

    def prepare_workflow(self, defn: object) -> None:
        """Load the workflow, and build the validators that its tasks use."""
        self.inner.prepare_workflow(defn)  # pyright: ignore[reportArgumentType]
        build_validators()
        state_adapter()

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """Wrap the inner runner's instance, which then handles only activations."""
        return _ContextFree(self.inner.create_instance(det), self.board, self.limit)

    def set_worker_level_failure_exception_types(
        self, types: Sequence[type[BaseException]]
    ) -> None:
        """Delegate to the inner runner."""
        self.inner.set_worker_level_failure_exception_types(types)


class _ContextFree(WorkflowInstance):
    def __init__(self, inner: WorkflowInstance, board: TaskBoard | None, limit: CpuLimit) -> None:
        self._inner = inner
        self._limit = limit
        self._board = board
        self._ordered = OrderedActivations(inner.activate)
        info = inner.get_info()
        self._name = run_name(info.workflow_id, info.run_id)
        # The run itself: none of our commands has a payload for another workflow.
        self._store = StorageDriverStoreContext(
            target=StorageDriverWorkflowInfo(
                id=info.workflow_id,
                run_id=info.run_id,
                type=info.workflow_type,
                namespace=info.namespace,
            )
        )

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        board = self._board
        if board is None:
            return self._limit.run(lambda: self._ordered.activate(act))
        slot = board.begin(self._name)
        try:
            return self._limit.run(lambda: self._ordered.activate(act))
        except TaskOverran as over:
            board.overran(over.used)
            raise
        finally:
            board.end(slot)

    def get_serialization_context(self, command_info: object) -> None:
        return None

    def get_external_store_context(self, command_info: object) -> StorageDriverStoreContext:
        return self._store

    def get_info(self) -> Info:
        return self._inner.get_info()

    def get_thread_id(self) -> int | None:
        return self._inner.get_thread_id()
