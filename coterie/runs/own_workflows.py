"""Find a workflow of ours by the id that its name gives it, and nothing else that has this id."""

from shlex import quote

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import WorkflowExecutionStatus
from temporalio.api.workflowservice.v1 import DescribeWorkflowExecutionRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from coterie.failures import CommandError


class ForeignWorkflow(CommandError):
    """An open workflow of another type has an id of ours."""


async def own_execution(client: Client, id: str, workflow_type: str) -> str | None:
    """Return the run id of its latest execution; None if there is none, or a closed one of others.

    Raises:
        ForeignWorkflow: Something else has the id, and is open.
        RPCError: The server does not answer.
    """
    request = DescribeWorkflowExecutionRequest(
        namespace=client.namespace, execution=WorkflowExecution(workflow_id=id)
    )
    try:
        found = await client.workflow_service.describe_workflow_execution(request, retry=True)
    except RPCError as error:
        if error.status == RPCStatusCode.NOT_FOUND:
            return None
        raise
    info = found.workflow_execution_info
    if info.type.name == workflow_type:
        return info.execution.run_id
    if info.status == WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_RUNNING:
        raise ForeignWorkflow(
            f"the id {id!r} belongs to {workflow_type}, but an open {info.type.name} has it: "
            f"end that one (`coterie cancel {quote(id)}`, or terminate it in Temporal), then "
            "try again"
        )
    return None
