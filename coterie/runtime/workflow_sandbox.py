"""Configure the workflow sandbox: strict for what reaches Temporal, open for pure code.

The language and the interpreter pass through: reloading their modules for each run would take 9 ms
and half a megabyte per run. `tests/law` ensures that they import nothing that a sandbox must catch,
and the tests also run them inside the sandbox; see
docs/decisions/0009-what-decides-passes-through-the-sandbox.md.

To run an activation, the SDK's instance executes a text in the sandbox's globals. Here it compiles
that text once, and not for every activation of every run. For every payload of every command the
SDK's worker also asks the run, in its sandbox, for the payload's encoding context, a tenth of the
cost of a step. Our data converter needs none, so a run enters the sandbox for activations only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import CodeType
from typing import Any

from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.converter import StorageDriverStoreContext, StorageDriverWorkflowInfo
from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails, WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions
from temporalio.worker.workflow_sandbox._runner import (
    _Instance,  # pyright: ignore[reportPrivateUsage]  # the only place that executes the text
)
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


class CompiledSandboxRunner(SandboxedWorkflowRunner):
    """Runs workflows as the SDK's runner does, from compiled code."""

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """Return the SDK's instance of a run in its own sandbox."""
        return _CompiledInstance(det, self.runner_class, self.restrictions)


class _CompiledInstance(_Instance):
    def _run_code(self, code: str, **extra_globals: Any) -> None:
        whole: Any = compiled(code)  # `exec` takes both
        super()._run_code(whole, **extra_globals)


@cache
def compiled(code: str) -> CodeType:
    """Return the code of one of the SDK's few texts."""
    return compile(code, "<string>", "exec")


LIBRARIES = (
    "pydantic",
    "pydantic_core",
    "annotated_types",
    "typing_inspection",
    "jinja2",
    "markupsafe",
    "re2",
    "cryptography",
    "_re2",
)
LANGUAGE = ("coterie.dsl", "coterie.activities", "coterie.checkout")
"""Rooms that the import law keeps free of clocks, randomness and I/O, and the finder of rooms."""

DATA = (
    "coterie.workflows.core.activation",
    "coterie.workflows.core.causes",
    "coterie.workflows.core.state_parts",
    "coterie.workflows.core.messages",
    "coterie.workflows.core.progress",
    "coterie.workflows.core.requests",
    "coterie.workflows.core.state",
    "coterie.workflows.core.state_keys",
    "coterie.workflows.core.views",
    "coterie.workflows.signatures",
)
"""Types of messages and state, which call nothing."""

DECIDING = (
    "coterie.workflows.agents",
    "coterie.workflows.approvals",
    "coterie.workflows.budgets",
    "coterie.workflows.sessions",
    "coterie.workflows.control",
    "coterie.workflows.core",
    "coterie.workflows.fan_out",
    "coterie.workflows.handlers",
    "coterie.workflows.interpreter",
    "coterie.workflows.sequence",
    "coterie.workflows.context_drafts",
    "coterie.workflows.graph_ledger",
    "coterie.workflows.skipped_steps",
    "coterie.workflows.step_attempts",
    "coterie.workflows.steps",
    "coterie.workflows.temporal",
)
"""The interpreter, by shelf: it reaches the world only through the Scope."""


def sandbox(*, everything: bool = False, board: TaskBoard | None = None) -> WorkflowRunner:
    """Build the workflow runner of every worker.

    Args:
        everything: Keep the interpreter in the sandbox too, as the tests do to catch violations.
        board: Records workflow tasks for a watchdog.
    """
    inside = CompiledSandboxRunner(restrictions=restrictions(everything=everything))
    return ContextFreeRunner(inside, board)


def restrictions(*, everything: bool = False) -> SandboxRestrictions:
    """Return which modules pass through the sandbox, and which do not."""
    modules = (*LIBRARIES, *LANGUAGE, *DATA, *(() if everything else DECIDING))
    return SandboxRestrictions.default.with_passthrough_modules(*modules)
