"""Follow the task of a call until it has ended: what its server says of it, as an outcome."""

import asyncio
from collections.abc import Mapping
from time import monotonic
from typing import Any, Protocol, TypeVar, assert_never

import mcp_types as types
from pydantic import ValidationError

from coterie.activities.mcp_client.call_outcomes import CallLost, InputAsked, ToolAnswer
from coterie.activities.mcp_client.input_requests import accepted_input, input_asked
from coterie.activities.mcp_client.server_answers import tool_answer
from coterie.activities.mcp_client.task_protocol import (
    CancelTask,
    CreatedTask,
    GetTask,
    TaskDetails,
    TaskIdParams,
    TaskMessage,
    TaskReplyParams,
    UpdateTask,
)
from coterie.dsl.model.tools.asked_input import AskedInput, ServerTask
from coterie.dsl.values import Json
from coterie.dsl.visible import one_line, shortened_text, visible

R = TypeVar("R", bound=types.Result)

_MAX_ID_LENGTH = 500
_MAX_MESSAGE_LENGTH = 2_000
_POLL_SECONDS = 2.0
_MIN_POLL_SECONDS = 0.1
_MAX_POLL_SECONDS = 30.0


class TaskConnection(Protocol):
    """A connection to the server of a task."""

    async def request(self, request: types.Request[Any, Any], form: type[R]) -> R:
        """Send a request about a task; raises TaskForgotten and ServerUnreachable."""
        ...


def task_asked(created: CreatedTask) -> Exception:
    """Return the task that a server began instead of a result."""
    id = created.task_id
    if not id or len(id) > _MAX_ID_LENGTH or visible(id) != id:
        return CallLost("the id of its task is empty, too long, or not printable")
    return _continues(ServerTask(id=id, poll_seconds=_interval(created)), created)


async def follow_task(
    connection: TaskConnection, task: ServerTask, answers: Mapping[str, Json], until: float
) -> ToolAnswer:
    """Ask for a task until it has ended, asks something, or the time is over.

    Args:
        connection: To its server.
        task: As it was begun.
        answers: Of a person, by the key of the question.
        until: When the time is over, on the monotonic clock.

    Raises:
        InputAsked: It asks something, or continues.
        TaskForgotten: The server knows it no more.
        ServerUnreachable: The server does not answer.
    """
    if answers:
        responses = {key: accepted_input(answer) for key, answer in answers.items()}
        params = TaskReplyParams(task_id=task.id, input_responses={**responses})
        await connection.request(UpdateTask(params=params), types.EmptyResult)
    while True:
        asking = GetTask(params=TaskIdParams(task_id=task.id))
        details = await connection.request(asking, TaskDetails)
        current = ServerTask(id=task.id, poll_seconds=_interval(details))
        match details.status:
            case "completed":
                return _result(details)
            case "failed":
                error = details.error
                return ToolAnswer(_words(error.message if error else "it failed"), failed=True)
            case "cancelled":
                return ToolAnswer(_words(details.status_message or "it was cancelled"), failed=True)
            case "input_required":
                requests = details.input_requests or {}
                new = {key: request for key, request in requests.items() if key not in answers}
                if new:
                    requirement = types.InputRequiredResult(input_requests=new)
                    raise input_asked(requirement, current)
            case "working":
                pass
            case _ as never:
                assert_never(never)
        if monotonic() + current.poll_seconds >= until:
            raise _continues(current, details)
        await asyncio.sleep(current.poll_seconds)


async def cancel_task(connection: TaskConnection, task: ServerTask) -> None:
    """Ask the server to end a task; raises like `follow_task`."""
    cancelling = CancelTask(params=TaskIdParams(task_id=task.id))
    await connection.request(cancelling, types.EmptyResult)


def _continues(task: ServerTask, details: TaskMessage) -> InputAsked:
    words = _words(details.status_message or "it works on its task")
    return InputAsked(words, AskedInput(task=task))


def _result(details: TaskDetails) -> ToolAnswer:
    try:
        return tool_answer(types.CallToolResult.model_validate(details.result))
    except ValidationError:
        return ToolAnswer("its task has no result that the protocol allows", failed=True)


def _interval(details: TaskMessage) -> float:
    milliseconds = details.poll_interval_ms
    seconds = _POLL_SECONDS if milliseconds is None else milliseconds / 1000
    return min(max(seconds, _MIN_POLL_SECONDS), _MAX_POLL_SECONDS)


def _words(text: str) -> str:
    return shortened_text(one_line(text), _MAX_MESSAGE_LENGTH)
