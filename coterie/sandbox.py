"""The sandbox of workflows: strict for what reaches Temporal, open for what is pure by law.

What decides (the language and the interpreter) passes through: a run does not build its modules
anew, which takes 9 ms and keeps half a megabyte a run. `tests/law` holds that it imports
nothing that a sandbox would have to catch, and the tests run it inside as well (decision 0009).
"""

from temporalio.worker import WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from coterie.runner import ContextFreeRunner
from coterie.task_board import TaskBoard

LIBRARIES = (
    "pydantic", "pydantic_core", "annotated_types", "typing_inspection", "jinja2", "markupsafe",
    "re2", "_re2",
)  # fmt: skip
LANGUAGE = ("dsl", "activities", "activities.contracts")
"""Rooms that the import law keeps free of clocks, chance and input."""

DATA = (
    "workflows.memory", "workflows.messages", "workflows.requests", "workflows.state",
    "workflows.views",
)  # fmt: skip
"""What crosses and what is remembered: types that call nothing."""

DECIDING = (
    "workflows.approvals", "workflows.asking", "workflows.attributes", "workflows.beginning",
    "workflows.board", "workflows.budgets", "workflows.consent", "workflows.control",
    "workflows.conversing", "workflows.costs", "workflows.early_messages", "workflows.edits",
    "workflows.extract",
    "workflows.failing", "workflows.fan_out", "workflows.forking", "workflows.found",
    "workflows.interpreter",
    "workflows.looking", "workflows.pace", "workflows.patches", "workflows.place",
    "workflows.queues", "workflows.repeats", "workflows.results", "workflows.scope",
    "workflows.sequence", "workflows.skill_calls", "workflows.skipping", "workflows.spending",
    "workflows.steering", "workflows.steps", "workflows.stopping", "workflows.telling",
)  # fmt: skip
"""The interpreter: it reaches the world through the Scope alone."""

ANSWERING = ("workflows.encoding", "workflows.people", "workflows.questions")
"""What takes messages and answers them: of Temporal's API it uses what `tests/law` lists."""

ACTING = (
    "workflows.calls", "workflows.durable", "workflows.notifier", "workflows.pacer",
    "workflows.ways",
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
