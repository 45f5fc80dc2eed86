"""Configure the workflow sandbox: strict for what reaches Temporal, open for pure code.

The language and the interpreter pass through: reloading their modules for each run would take 9 ms
and half a megabyte per run. `tests/law` ensures that they import nothing that a sandbox must catch,
and the tests also run them inside the sandbox; see
docs/decisions/0009-what-decides-passes-through-the-sandbox.md.
"""

from temporalio.worker import WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxRestrictions

from coterie.runtime.compiled_sandbox import CompiledSandboxRunner
from coterie.runtime.task_board import TaskBoard
from coterie.runtime.workflow_runner import ContextFreeRunner

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
LANGUAGE = ("dsl", "activities", "activities.contracts")
"""Rooms that the import law keeps free of clocks, randomness and I/O."""

DATA = (
    "workflows.core.activation",
    "workflows.core.causes",
    "workflows.core.memory",
    "workflows.core.messages",
    "workflows.core.progress",
    "workflows.core.requests",
    "workflows.core.state",
    "workflows.core.state_keys",
    "workflows.core.views",
)
"""Types of messages and state, which call nothing."""

DECIDING = (
    "workflows.agents",
    "workflows.approvals",
    "workflows.branch_results",
    "workflows.budgets",
    "workflows.sessions",
    "workflows.control",
    "workflows.core",
    "workflows.fan_out",
    "workflows.handlers",
    "workflows.interpreter",
    "workflows.run_hooks",
    "workflows.sequence",
    "workflows.context_drafts",
    "workflows.graph_ledger",
    "workflows.result_checks",
    "workflows.skipped_steps",
    "workflows.step_attempts",
    "workflows.steps",
    "workflows.temporal",
    "workflows.visit_limits",
)
"""The interpreter, by shelf: it reaches the world only through the Scope."""

ANSWERING = (
    "workflows.core.decoding",
    "workflows.core.encoding",
    "workflows.handlers.message_handlers",
    "workflows.handlers.query_handlers",
    "workflows.handlers.session_messages",
)
"""Modules of these shelves that handle messages; `tests/law` lists what they use of Temporal."""

ACTING = (
    "workflows.temporal.abandoned_branches",
    "workflows.temporal.activity_calls",
    "workflows.temporal.branch_runner",
    "workflows.temporal.branches",
    "workflows.temporal.call_failures",
    "workflows.temporal.durable_scope",
    "workflows.temporal.live_board",
    "workflows.temporal.notifier",
    "workflows.temporal.pacer",
    "workflows.temporal.timed_conditions",
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
