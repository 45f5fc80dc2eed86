"""Change the registry: the command that deploys serves it for that moment."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from temporalio.client import WithStartWorkflowOperation, WorkflowUpdateFailedError
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError
from temporalio.worker import Worker

from coterie.deployed.registry import Registry
from coterie.failures import CommandError, ExitCode
from coterie.runtime.workflow_sandbox import sandbox
from coterie.version import own_version
from coterie.workflows.core.registry_messages import (
    DEPLOY,
    REFUSED_CHANGE,
    REGISTRY_WORKFLOW,
    SWITCH,
    DeployInput,
    SwitchInput,
    TeamRecord,
)
from coterie.workflows.team_registry import TeamRegistryWorkflow

_SECONDS = 60.0


class ChangeRefused(CommandError):
    """The registry refuses a change: another one came first, or it is full."""

    def __init__(self, why: str) -> None:
        super().__init__(why, ExitCode.RUN_FAILED)


@asynccontextmanager
async def serving_registry(registry: Registry) -> AsyncGenerator[None]:
    """Serve the registry within the block; nobody else need do it."""
    worker = Worker(
        registry.client,
        task_queue=registry.id,
        workflows=[TeamRegistryWorkflow],
        workflow_runner=sandbox(),
        build_id=own_version(),
        max_cached_workflows=0,  # what another command serves next must not wait for this one
    )
    async with worker:
        yield


async def change_registry(registry: Registry, asked: DeployInput | SwitchInput) -> TeamRecord:
    """Send a change, and return what the registry then has of the team.

    Raises:
        ChangeRefused: Another change came first, or the registry is full.
        CommandError: The server does not answer.
    """
    starting: WithStartWorkflowOperation[Any, Any] = WithStartWorkflowOperation(
        REGISTRY_WORKFLOW,
        await registry.state(),  # of one that somebody has closed
        id=registry.id,
        task_queue=registry.id,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        static_summary="deployed versions of teams",
    )
    try:
        async with asyncio.timeout(_SECONDS):
            update = registry.client.execute_update_with_start_workflow  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
            changed: TeamRecord = await update(
                DEPLOY if isinstance(asked, DeployInput) else SWITCH,
                asked,
                start_workflow_operation=starting,
                result_type=TeamRecord,
            )
            return changed
    except WorkflowUpdateFailedError as error:
        cause = error.cause
        if isinstance(cause, ApplicationError) and cause.type == REFUSED_CHANGE:
            raise ChangeRefused(cause.message) from None
        raise CommandError(f"the registry does not take the change: {cause}") from None
    except TimeoutError:
        raise CommandError(
            "the registry did not answer in time: try again, and look with `coterie versions`",
            ExitCode.NOT_YET,
        ) from None
    except RPCError as error:
        raise CommandError(f"the server rejects the change: {error.message}") from None
