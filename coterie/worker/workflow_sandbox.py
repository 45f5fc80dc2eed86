"""The sandbox of workflows: strict for what reaches Temporal, open for what is pure by law.

What decides (the language and the interpreter) passes through: a run does not build its modules
anew, which takes 9 ms and keeps half a megabyte a run. `tests/law` holds that it imports
nothing that a sandbox would have to catch, and the tests run it inside as well (decision 0009).
"""

from temporalio.worker import WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from coterie.worker.task_board import TaskBoard
from coterie.worker.workflow_runner import ContextFreeRunner

LIBRARIES = (
    "pydantic", "pydantic_core", "annotated_types", "typing_inspection", "jinja2", "markupsafe",
    "re2", "_re2",
)  # fmt: skip
LANGUAGE = ("dsl", "activities", "activities.contracts")
"""Rooms that the import law keeps free of clocks, chance and input."""

DATA = (
    "workflows.core.memory", "workflows.core.messages", "workflows.core.requests", "workflows.core.state",
    "workflows.core.views",
)  # fmt: skip
"""What crosses and what is remembered: types that call nothing."""

DECIDING = (
    "workflows.approvals.decisions", "workflows.approvals.approval_wait", "workflows.temporal.search_attributes", "workflows.handlers.start_checks",
    "workflows.handlers.board", "workflows.budgets.balances", "workflows.approvals.output_approval", "workflows.control.pause_and_amend",
    "workflows.agents.conversation_order", "workflows.budgets.costs", "workflows.handlers.early_messages", "workflows.approvals.payload_edits",
    "workflows.core.extract",
    "workflows.approvals.failed_steps", "workflows.fan_out", "workflows.control.fork", "workflows.agents.collected_files",
    "workflows.interpreter",
    "workflows.handlers.query_answers", "workflows.core.pace", "workflows.core.patches", "workflows.core.location",
    "workflows.temporal.queues", "workflows.agents.repeated_calls", "workflows.core.results", "workflows.core.scope",
    "workflows.sequence", "workflows.agents.skill_calls", "workflows.skipped_steps", "workflows.core.usage",
    "workflows.control.retry_and_skip", "workflows.steps", "workflows.control.cancellation", "workflows.approvals.notification_moments",
)  # fmt: skip
"""The interpreter: it reaches the world through the Scope alone."""

ANSWERING = (
    "workflows.core.encoding",
    "workflows.handlers.message_handlers",
    "workflows.handlers.query_handlers",
)
"""What takes messages and answers them: of Temporal's API it uses what `tests/law` lists."""

ACTING = (
    "workflows.temporal.activity_calls", "workflows.temporal.durable_scope", "workflows.temporal.notifier", "workflows.temporal.pacer",
    "workflows.temporal.branches",
)  # fmt: skip
"""The Scope of a workflow: its effects are Temporal's own, and of asyncio it uses the tasks alone.
A run that waits would keep 80 kB of functions that are the same in every run."""


def sandbox(*, everything: bool = False, board: TaskBoard | None = None) -> WorkflowRunner:
    """The workflow runner of every worker.

    Args:
        everything: keep the interpreter inside too, as the tests do to catch what it should not do.
        board: where workflow tasks are told to a watchdog.
    """
    inside = SandboxedWorkflowRunner(restrictions=restrictions(everything=everything))
    return ContextFreeRunner(inside, board)


def restrictions(*, everything: bool = False) -> SandboxRestrictions:
    """What passes through the sandbox, and what does not."""
    interpreter = () if everything else (*DECIDING, *ANSWERING, *ACTING)
    passed = (*LIBRARIES, *LANGUAGE, *DATA, *interpreter)
    return SandboxRestrictions.default.with_passthrough_modules(*passed)
