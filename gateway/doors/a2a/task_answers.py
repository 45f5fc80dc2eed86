"""Messages on a task: they answer its request, or continue its session. Each counts once."""

from dataclasses import dataclass

from pydantic import ValidationError

from coterie.dsl.json_values import json_digest
from coterie.dsl.values import Json
from coterie.gateway.doors.a2a.message_contents import (
    MessageContent,
    RequestAnswer,
    answer_to,
    session_value,
)
from coterie.gateway.doors.a2a.task_views import TaskView
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.error_reports import Rejection, invalid_input, problems_of
from coterie.gateway.operations.operations_table import operation_named
from coterie.gateway.operations.performance import perform
from coterie.gateway.operations.run_access import FoundRun, RunAccess
from coterie.gateway.operations.run_permissions import update_id
from coterie.gateway.sessions.session_runs import MessageToSession, plan_for
from coterie.workflows.core.state_keys import StepKey


def message_key(task: str, message: str) -> str:
    """Return the id of a message on a task, as the operations know it."""
    return f"a2a-{json_digest(task, message)[:32]}"


@dataclass(frozen=True, slots=True)
class MessageOnTask:
    """A message on a task."""

    id: str
    content: MessageContent
    answers: str | None = None
    """The id of the status message that it answers."""


async def answer_task(
    access: RunAccess, identity: Identity, found: FoundRun, view: TaskView, message: MessageOnTask
) -> None:
    """Send a message to the run that waits for it; one that it has taken is not sent again.

    Args:
        access: The runs.
        identity: Who sends it.
        found: The run.
        view: The task that it is.
        message: What it says, and what it answers.

    Raises:
        CommandError: The task waits for nothing, the message does not fit, or the identity may not.
    """
    id = message_key(view.id, message.id)
    if not view.reading.taken.isdisjoint({id, update_id(identity, id)}):
        return
    if view.pending:
        is_reply = message.answers == view.message_id
        answer = answer_to(message.content, view.pending, is_reply=is_reply)
        await _decide(access, identity, view.id, id, answer)
    elif view.awaits_message:
        plan = await plan_for(access, found.team, identity, found)
        value = session_value(plan, message.content)
        await MessageToSession(access, identity, view.id, id, value).take()
    else:
        raise Rejection(
            409,
            "message_refused",
            f"the task {view.id!r} is {view.state}, and waits for no message",
            "Send a message when the state is TASK_STATE_INPUT_REQUIRED.",
        )


async def _decide(
    access: RunAccess, identity: Identity, task: str, id: str, answer: RequestAnswer
) -> None:
    """Perform the operation that a decision is."""
    request = answer.request
    steered: Json = {
        "task": str(StepKey.of_failed(request.id)),
        "why": answer.comment,
        "digest": request.digest,
    }
    match answer.act:
        case "approve" | "reject":
            name = "decide"
            asked: Json = {
                "request": request.id,
                "digest": request.digest,
                "decision": answer.act,
                "comment": answer.comment,
            }
            if answer.has_payload:
                asked["payload"] = answer.payload
        case "retry":
            name, asked = "retry", steered
        case "skip":
            name, asked = "skip", {**steered, "value": answer.payload}
    operation = operation_named(name)
    try:
        given = operation.input.model_validate({"run": task, "message_id": id, **asked})
    except ValidationError as error:
        report = invalid_input(problems_of(error), "").report
        raise Rejection(422, report.code, report.message) from None
    await perform(access, operation, given, identity)
