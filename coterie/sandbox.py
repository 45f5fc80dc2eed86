"""The sandbox that workflows run in: strict for `workflows`, open for what is pure by law.

`workflows` itself is never passed through, or the sandbox would not see what it does; only its
pure data is, or every run would build and keep these models anew: 35 ms and 0.7 MB a run.
"""

from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

PURE = (
    "dsl", "activities", "activities.contracts", "pydantic", "pydantic_core", "annotated_types",
    "typing_inspection", "jinja2", "markupsafe", "re2", "_re2",
)  # fmt: skip
"""Libraries and rooms that the import law keeps free of clocks, chance and input."""

DATA = ("workflows.messages", "workflows.state")
"""What crosses and what is remembered: types that call nothing (held by `tests/law`)."""


def sandbox() -> SandboxedWorkflowRunner:
    """The workflow runner of every worker and every test."""
    restrictions = SandboxRestrictions.default.with_passthrough_modules(*PURE, *DATA)
    return SandboxedWorkflowRunner(restrictions=restrictions)
