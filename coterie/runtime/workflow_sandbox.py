"""Configure the workflow sandbox: strict for what reaches Temporal, open for pure code.

The language and the interpreter pass through: reloading their modules for each run would take 9 ms
and half a megabyte per run. `tests/law` ensures that they import nothing that a sandbox must catch,
and the tests also run them inside the sandbox; see
docs/decisions/0009-what-decides-passes-through-the-sandbox.md.

To run an activation, the SDK's instance executes a text in the sandbox's globals. Here it compiles
that text once, and not for every activation of every run.
"""

from functools import cache
from types import CodeType
from typing import Any

from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails, WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions
from temporalio.worker.workflow_sandbox._runner import (
    _Instance,  # pyright: ignore[reportPrivateUsage]  # the only place that executes the text
)

from coterie.runtime.task_board import TaskBoard
from coterie.runtime.workflow_runner import ContextFreeRunner


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
    "_re2",
)
LANGUAGE = ("coterie.dsl", "coterie.activities", "coterie.checkout")
"""Rooms that the import law keeps free of clocks, randomness and I/O, and the finder of rooms."""

DATA = (
    "coterie.workflows.core.activation",
    "coterie.workflows.core.causes",
    "coterie.workflows.core.memory",
    "coterie.workflows.core.messages",
    "coterie.workflows.core.progress",
    "coterie.workflows.core.requests",
    "coterie.workflows.core.state",
    "coterie.workflows.core.state_keys",
    "coterie.workflows.core.views",
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

ANSWERING = (
    "coterie.workflows.core.decoding",
    "coterie.workflows.core.encoding",
    "coterie.workflows.handlers.message_handlers",
    "coterie.workflows.handlers.query_handlers",
    "coterie.workflows.handlers.session_messages",
)
"""Modules of these shelves that handle messages; `tests/law` lists what they use of Temporal."""

ACTING = (
    "coterie.workflows.temporal.branches",
    "coterie.workflows.temporal.activity_calls",
    "coterie.workflows.temporal.branches",
    "coterie.workflows.temporal.call_failures",
    "coterie.workflows.temporal.durable_scope",
    "coterie.workflows.temporal.pacer",
)
"""Modules of these shelves with the Scope of a workflow. Their effects are Temporal's own, and of
asyncio they use only tasks. In the sandbox, each run would keep 80 kB of identical functions."""


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
    passed = (*LIBRARIES, *LANGUAGE, *DATA, *(() if everything else DECIDING))
    return SandboxRestrictions.default.with_passthrough_modules(*passed)
