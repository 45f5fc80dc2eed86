"""Messages on a task: they answer its request, or continue its session. Each counts once."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final, Literal

from pydantic import JsonValue

from coterie.dsl.json_values import json_digest
from coterie.gateway.doors.a2a.message_contents import (
    MessageContent,
    RequestAnswer,
    answer_to,
    session_message,
)
from coterie.gateway.doors.a2a.task_views import TaskView
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.operations.operation import AnyOperation, RunAsked
from coterie.gateway.operations.operations_table import operation_named
from coterie.gateway.operations.performance import perform
from coterie.gateway.operations.request_decisions import approver_name
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.operations.run_permissions import trail_name
from coterie.gateway.operations.run_steering import MessageAsked
from coterie.workflows.core.messages import DecideInput, RetryInput, SkipInput
from coterie.workflows.core.requests import Decision, Pending

_TAKING_SECONDS: Final = 0.0


def update_id(task: str, message: str) -> str:
    """Return the id of the update that a message becomes."""
    return f"a2a-{json_digest(task, message)[:32]}"


async def answer_task(
    access: RunAccess, identity: Identity, view: TaskView, message: str, content: MessageContent
) -> None:
    """Send a message to the run that waits for it; one that it has taken is not sent again.

    Args:
        access: The runs.
        identity: Who sends it.
        view: The task.
        message: The id of the message.
        content: What it says.

    Raises:
        CommandError: The task waits for nothing, the message does not fit, or the identity may not.
    """
    id = update_id(view.id, message)
    if id in view.reading.taken:
        return
    if view.pending:
        await _decide(access, identity, view, id, answer_to(content, view.pending))
    elif view.awaits_message:
        await send_to_session(access, identity, view.id, message, session_message(content))
    else:
        raise Rejection(
            409,
            "message_refused",
            f"the task {view.id!r} is {view.state}, and waits for no message",
            "Send a message when the state is TASK_STATE_INPUT_REQUIRED.",
        )


async def send_to_session(
    access: RunAccess, identity: Identity, task: str, message: str, value: JsonValue
) -> None:
    """Send a message to a session, and wait until it has it, not for the reply."""
    asked = MessageAsked(
        run=task, message=value, message_id=update_id(task, message), wait=_TAKING_SECONDS
    )
    outcome = await perform(access, operation_named("message"), asked, identity)
    if not outcome.is_taken:
        raise Rejection(
            503,
            "no_worker",
            f"no worker takes the message to {task!r} now",
            "Send it again with the same message id.",
        )


async def _decide(
    access: RunAccess, identity: Identity, view: TaskView, id: str, answer: RequestAnswer
) -> None:
    match answer.act:
        case "approve" | "reject":
            handler = _decide_handler(answer, answer.act, id)
            operation = "decide"
        case "retry":
            handler = _retry_handler(view.team, answer, id)
            operation = "retry"
        case "skip":
            handler = _skip_handler(view.team, answer, id)
            operation = "skip"
    performed: AnyOperation = replace(operation_named(operation), handler=handler)
    await perform(access, performed, RunAsked(run=view.id), identity)


_Handler = Callable[[RunAccess, RunAsked, Identity], Awaitable[Decision]]


def _decide_handler(
    answer: RequestAnswer, decision: Literal["approve", "reject"], id: str
) -> _Handler:
    async def decide(access: RunAccess, asked: RunAsked, identity: Identity) -> Decision:
        given = DecideInput(
            id=answer.request.id,
            decision=decision,
            by=approver_name(identity),
            comment=answer.comment,
            digest=answer.digest,
        )
        if answer.has_payload:
            given = given.model_copy(update={"payload": answer.payload})
        run = access.run(asked.run)
        run.signer = access.signer(identity.approver, identity)
        return await run.decide(given, update_id=id)

    return decide


def _retry_handler(team: str, answer: RequestAnswer, id: str) -> _Handler:
    async def retry(access: RunAccess, asked: RunAsked, identity: Identity) -> Decision:
        by = trail_name(identity, team)
        run = access.run(asked.run)
        run.signer = access.signer(by, identity)
        given = RetryInput(task=_task_of(answer.request), by=by, why=answer.comment)
        return await run.retry(given, update_id=id)

    return retry


def _skip_handler(team: str, answer: RequestAnswer, id: str) -> _Handler:
    async def skip(access: RunAccess, asked: RunAsked, identity: Identity) -> Decision:
        by = trail_name(identity, team)
        run = access.run(asked.run)
        run.signer = access.signer(by, identity)
        task = _task_of(answer.request)
        given = SkipInput(task=task, value=answer.payload, by=by, why=answer.comment)
        return await run.skip(given, update_id=id)

    return skip


def _task_of(request: Pending) -> str:
    """Return the task that a request is about: its id without the count."""
    return request.id.rpartition("#")[0]
