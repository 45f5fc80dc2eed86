"""The workflow sandbox of the tests, of which each process prepares one of a kind.

With the interpreter inside, the SDK's sandbox would import its 120 modules for each run, and once
more for each worker: most of the time of a test. So they are imported once, inside, and each run
gets a sandbox that has them already. It refuses what any sandbox refuses.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType

from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails, WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner
from temporalio.worker.workflow_sandbox._importer import Importer
from temporalio.worker.workflow_sandbox._restrictions import RestrictionContext
from temporalio.worker.workflow_sandbox._runner import (
    _Instance,  # pyright: ignore[reportPrivateUsage]
)

from coterie.runtime.task_limit import MAX_SECONDS
from coterie.runtime.workflow_sandbox import ContextFreeRunner, compiled, restrictions, sandbox


@dataclass
class Prepared(WorkflowRunner):
    """A runner that loads each workflow once."""

    inner: WorkflowRunner
    workflows: list[object] = field(default_factory=list[object])
    """Those that have been prepared."""
    max_task_seconds: float = MAX_SECONDS

    def prepare_workflow(self, defn: object) -> None:
        """Load a workflow that no worker of this process has loaded."""
        if defn not in self.workflows:
            self.inner.prepare_workflow(defn)  # pyright: ignore[reportArgumentType]
            self.workflows.append(defn)

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """A run, in a sandbox of its own."""
        return self.inner.create_instance(det)

    def set_worker_level_failure_exception_types(
        self, types: Sequence[type[BaseException]]
    ) -> None:
        """Only for what it prepares: a run knows those of its own worker."""
        self.inner.set_worker_level_failure_exception_types(types)


class _ContextOfThread(RestrictionContext, threading.local):
    """What the modules of the sandbox ask whether a run executes them: each thread runs one."""


@dataclass(frozen=True)
class SharedInterpreter(SandboxedWorkflowRunner):
    """Runs workflows in sandboxes that share the modules which the first one has imported."""

    modules: dict[str, ModuleType] = field(default_factory=dict[str, ModuleType])
    checked: set[str] = field(default_factory=set[str])
    """The modules whose restrictions are laid over them."""
    context: RestrictionContext = field(default_factory=_ContextOfThread)

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """A run, in a sandbox that begins with the modules of the first one."""
        made = _SharingInstance(det, self)
        if not self.modules:
            self.modules.update(made.importer.new_modules)
            self.checked.update(made.importer.modules_checked_for_restrictions)
        return made


class _SharingInstance(_Instance):
    def __init__(self, det: WorkflowInstanceDetails, runner: SharedInterpreter) -> None:
        self._runner = runner
        super().__init__(det, runner.runner_class, runner.restrictions)

    def _create_instance(self) -> None:
        shared = self._runner
        self.importer = Importer(
            shared.restrictions, shared.context, workflow_module_name=self._workflow_module_name()
        )
        self.importer.new_modules.update(shared.modules)
        self.importer.modules_checked_for_restrictions.update(shared.checked)
        super()._create_instance()

    def _run_code(self, code: str, **extra_globals: object) -> None:
        super()._run_code(compiled(code), **extra_globals)  # pyright: ignore[reportArgumentType]


@cache
def prepared_sandbox(*, everything: bool = False) -> WorkflowRunner:
    """The product's sandbox; with `everything`, the interpreter is inside, too."""
    if not everything:
        return Prepared(sandbox())
    return Prepared(ContextFreeRunner(SharedInterpreter(restrictions(everything=True))))
