"""The SDK's sandbox, which compiles its few lines of code once.

To run an activation, the SDK's instance executes a text in the sandbox's globals. It would parse
and compile that text again for every activation of every run.
"""

from functools import cache
from types import CodeType
from typing import Any

from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner
from temporalio.worker.workflow_sandbox._runner import (
    _Instance,  # pyright: ignore[reportPrivateUsage]  # the only place that executes the text
)


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
