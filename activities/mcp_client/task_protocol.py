"""The messages of the tasks extension, as its specification of 2026-07-28 has them.

A server may answer a call with a task instead of a result. The client then asks for the task until
it has ended.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NoReturn

import mcp_types as types
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim

TASKS = "io.modelcontextprotocol/tasks"
"""The name of the extension."""

TaskStatus = Literal["working", "input_required", "completed", "failed", "cancelled"]


class TaskMessage(types.Result):
    """What a server says of a task."""

    task_id: str
    status: TaskStatus
    status_message: str | None = None
    ttl_ms: float | None = None
    """For how long the server keeps the task, since it was created."""
    poll_interval_ms: float | None = None


class CreatedTask(TaskMessage):
    """The answer to a call that becomes a task."""

    result_type: Literal["task"]


class TaskDetails(TaskMessage):
    """The answer to `tasks/get`."""

    input_requests: types.InputRequests | None = None
    result: dict[str, Any] | None = None
    error: types.ErrorData | None = None


class TaskIdParams(types.RequestParams):
    """The parameters of `tasks/get` and `tasks/cancel`."""

    task_id: str


class TaskReplyParams(TaskIdParams):
    """The parameters of `tasks/update`."""

    input_responses: types.InputResponses


class GetTask(types.Request[TaskIdParams, Literal["tasks/get"]]):
    """Asks where a task stands."""

    name_param: ClassVar[str | None] = "taskId"
    method: Literal["tasks/get"] = "tasks/get"
    params: TaskIdParams


class UpdateTask(types.Request[TaskReplyParams, Literal["tasks/update"]]):
    """Answers what a task asks."""

    name_param: ClassVar[str | None] = "taskId"
    method: Literal["tasks/update"] = "tasks/update"
    params: TaskReplyParams


class CancelTask(types.Request[TaskIdParams, Literal["tasks/cancel"]]):
    """Asks a server to end a task."""

    name_param: ClassVar[str | None] = "taskId"
    method: Literal["tasks/cancel"] = "tasks/cancel"
    params: TaskIdParams


class FollowsTasks(ClientExtension):
    """Declares that the client polls tasks; it reads them itself."""

    identifier = TASKS

    def claims(self) -> Sequence[ResultClaim[Any]]:
        """Return the form of a task as the answer to a call."""
        return (ResultClaim(result_type="task", model=CreatedTask, resolve=_refuse_input),)


async def _refuse_input(task: CreatedTask, context: ClaimContext) -> NoReturn:
    """Fail: calls are sent as requests, whose answers the caller reads."""
    raise RuntimeError(f"the task {task.task_id} was not read")
