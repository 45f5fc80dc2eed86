"""The sandbox of workflows: strict for what reaches Temporal, open for what is pure by law.

What decides (the language and the interpreter) passes through: a run does not build its modules
anew, which takes 9 ms and keeps half a megabyte a run. `tests/law` holds that it imports
nothing that a sandbox would have to catch, and the tests run it inside as well (decision 0009).
"""

from temporalio.worker import WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

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
"""Rooms that the import law keeps free of clocks, chance and input."""

DATA = (
    "workflows.core.activation",
    "workflows.core.cause_facts",
    "workflows.core.memory",
    "workflows.core.messages",
    "workflows.core.requests",
    "workflows.core.state",
    "workflows.core.state_keys",
    "workflows.core.step_progress",
    "workflows.core.trail_because",
    "workflows.core.trail_causes",
    "workflows.core.views",
)
"""What crosses and what is remembered: types that call nothing."""

DECIDING = (
    "workflows.agents",
    "workflows.approvals",
    "workflows.budgets",
    "workflows.control",
    "workflows.core",
    "workflows.fan_out",
    "workflows.handlers",
    "workflows.interpreter",
    "workflows.sequence",
    "workflows.skipped_steps",
    "workflows.steps",
    "workflows.temporal",
)
"""The interpreter, by shelf: it reaches the world through the Scope alone."""

ANSWERING = (
    "workflows.core.encoding",
    "workflows.handlers.message_handlers",
    "workflows.handlers.query_handlers",
)
"""Of these shelves, what takes and answers messages; `tests/law` lists what it uses of Temporal."""

ACTING = (
    "workflows.temporal.activity_calls",
    "workflows.temporal.branches",
    "workflows.temporal.durable_scope",
    "workflows.temporal.notifier",
    "workflows.temporal.pacer",
)
"""Of these shelves, the Scope of a workflow. Its effects are Temporal's own, and of asyncio it uses
only tasks. A run that waits would keep 80 kB of functions that are the same in every run."""


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
    passed = (*LIBRARIES, *LANGUAGE, *DATA, *(() if everything else DECIDING))
    return SandboxRestrictions.default.with_passthrough_modules(*passed)
