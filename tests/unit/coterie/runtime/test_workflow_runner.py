"""The runner prepares a workflow before its first task, whose time is limited."""

from temporalio import workflow
from temporalio.worker import UnsandboxedWorkflowRunner

from coterie.dsl.values import Frozen
from coterie.runtime.workflow_sandbox import ContextFreeRunner
from coterie.workflows.core.state import state_adapter


@workflow.defn
class Prepared:
    """Is never started."""

    @workflow.run
    async def run(self) -> None:
        """Do nothing."""


def test_no_workflow_task_builds_a_validator() -> None:
    class Part(Frozen):
        n: int

    class Whole(Part):
        parts: tuple[Part, ...]

    assert not Whole.__pydantic_complete__
    state_adapter.cache_clear()
    runner = ContextFreeRunner(UnsandboxedWorkflowRunner())
    runner.prepare_workflow(workflow._Definition.from_class(Prepared))  # pyright: ignore[reportPrivateUsage]
    assert Part.__pydantic_complete__
    assert Whole.__pydantic_complete__
    assert state_adapter.cache_info().currsize == 1, "the first to continue as new would build it"
