"""Find a workflow of ours by the id that its name gives it, and nothing else that has this id."""

from shlex import quote

from temporalio.client import Client, WorkflowExecutionStatus
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
    try:
        found = await client.get_workflow_handle(id).describe()
    except RPCError as error:
        if error.status == RPCStatusCode.NOT_FOUND:
            return None
        raise
    if found.workflow_type == workflow_type:
        return found.run_id
    if found.status == WorkflowExecutionStatus.RUNNING:
        raise ForeignWorkflow(
            f"the id {id!r} belongs to {workflow_type}, but an open {found.workflow_type} has it: "
            f"end that one (`coterie cancel {quote(id)}`, or terminate it in Temporal), then "
            "try again"
        )
    return None
