"""The sandbox that the runs of a test process share refuses what a run's own sandbox refuses."""

import asyncio
import sys

from temporalio import workflow
from temporalio.bridge.proto.workflow_activation import (
    InitializeWorkflow,
    WorkflowActivation,
    WorkflowActivationJob,
)
from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails

from coterie.runtime.workflow_sandbox import restrictions
from coterie.workflows.team import TeamWorkflow
from tests.support.watching.prepared_sandbox import SharedInterpreter
from tests.unit.coterie.runtime.sandboxed import Impure, Pure

definition_of = workflow._Definition.must_from_class  # pyright: ignore[reportPrivateUsage]

BEGIN = WorkflowActivation(
    run_id="run",
    jobs=[WorkflowActivationJob(initialize_workflow=InitializeWorkflow(workflow_id="w"))],
)


class Kept(SharedInterpreter):
    """Keeps its runs."""

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        made.append(super().create_instance(det))
        return made[-1]


made: list[WorkflowInstance] = []


async def begun(runner: SharedInterpreter, kind: type) -> str:
    """What the first activation of another run came to."""
    runner.prepare_workflow(definition_of(kind))
    done = await asyncio.to_thread(made[-1].activate, BEGIN)
    return done.failed.failure.message


async def test_each_run_is_refused_what_the_first_one_is() -> None:
    runner = Kept(restrictions(everything=True))
    first = [await begun(runner, kind) for kind in (Impure, Pure)]
    again = [await begun(runner, kind) for kind in (Impure, Pure)]
    assert first == again
    assert ["Cannot access random.random" in message for message in again] == [True, False]


async def test_no_run_is_free_while_another_one_is_begun() -> None:
    context = SharedInterpreter(restrictions(everything=True)).context
    context.is_runtime = True
    assert not await asyncio.to_thread(lambda: context.is_runtime)


async def test_the_interpreter_is_inside_and_runs_share_it() -> None:
    runner = Kept(restrictions(everything=True))
    for _ in range(2):
        runner.prepare_workflow(definition_of(TeamWorkflow))
    first, again = [vars(run)["importer"].new_modules for run in made[-2:]]
    for name in ("coterie.workflows.team", "coterie.workflows.steps.agent"):
        assert first[name] is again[name]
        assert first[name] is not sys.modules[name]
