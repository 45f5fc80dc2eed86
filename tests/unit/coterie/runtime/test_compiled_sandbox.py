"""The sandbox of every run executes code that its worker has compiled once."""

import asyncio

from temporalio import workflow
from temporalio.bridge.proto.workflow_activation import (
    InitializeWorkflow,
    WorkflowActivation,
    WorkflowActivationJob,
)
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails

from coterie.runtime.workflow_sandbox import CompiledSandboxRunner, compiled
from tests.unit.coterie.runtime.sandboxed import Impure, Pure

definition_of = workflow._Definition.must_from_class  # pyright: ignore[reportPrivateUsage]

BEGIN = WorkflowActivation(
    run_id="run",
    jobs=[WorkflowActivationJob(initialize_workflow=InitializeWorkflow(workflow_id="w"))],
)


async def activated(kind: type[Pure | Impure]) -> WorkflowActivationCompletion:
    """The first activation of a run, in a thread of its own as a worker has it."""
    made: list[WorkflowInstance] = []

    class Kept(CompiledSandboxRunner):
        def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
            made.append(super().create_instance(det))
            return made[-1]

    Kept().prepare_workflow(definition_of(kind))
    return await asyncio.to_thread(made[0].activate, BEGIN)


async def test_only_the_first_activation_compiles_anything() -> None:
    first = await activated(Pure)
    before = compiled.cache_info()
    second = await activated(Pure)
    after = compiled.cache_info()
    assert after.misses == before.misses
    assert after.hits == before.hits + 3  # its imports, its instance, its activation
    assert first == second
    assert first.successful.commands[0].HasField("complete_workflow_execution")


async def test_the_restrictions_of_the_sdk_hold() -> None:
    done = await activated(Impure)
    assert "Cannot access random.random" in done.failed.failure.message
