"""Check whether a worker polls a task queue."""

from datetime import timedelta

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.service import RPCError


async def is_served(client: Client, task_queue: str) -> bool:
    """Return whether a worker polls the queue; True if the server does not say."""
    request = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=task_queue),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
    )
    try:
        answer = await client.workflow_service.describe_task_queue(
            request, timeout=timedelta(seconds=5)
        )
    except RPCError:
        return True
    return bool(answer.pollers)
