"""Talk to a session as a client: start it with its first message, send further ones.

The update's id identifies a message: if it is sent again with the same id, the run processes it
once and answers both. A run that is about to continue as new asks the client to send it again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any, NamedTuple, NoReturn, cast

from pydantic import JsonValue
from temporalio.client import (
    Client,
    WithStartWorkflowOperation,
    WorkflowUpdateFailedError,
    WorkflowUpdateHandle,
    WorkflowUpdateRPCTimeoutOrCancelledError,
    WorkflowUpdateStage,
)
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError
from temporalio.service import RPCError

from coterie.failures import CommandError, ExitCode
from coterie.runs.call_errors import check_sent, task_was_lost, update_error
from coterie.runs.run_client import Run
from coterie.storage.histories import WORKFLOW
from coterie.workflows.core.memo_keys import STARTED
from coterie.workflows.core.messages import SEND_MESSAGE, SessionInput, TeamInput
from coterie.workflows.core.requests import NOT_YET

_AGAIN_SECONDS = 0.1
_LOST_SECONDS = 10.0
"""How long a message whose workflow task is lost is sent again."""

Handle = WorkflowUpdateHandle[JsonValue]


class MessageReply(NamedTuple):
    """The reply to a message."""

    value: JsonValue


class MessageProgress(NamedTuple):
    """How far a message has come."""

    is_taken: bool
    """Whether the run has taken it: then nobody needs to send it again."""
    reply: MessageReply | None = None


class MessageRefusedError(CommandError):
    """The run refused a message, or ended without a reply to it."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text, ExitCode.RUN_FAILED)
        self.code = code
        """`QueueFull`, `RunHasEnded`, ...: the type of the update's error."""


async def open_session(
    client: Client,
    id: str,
    given: TeamInput,
    first: SessionInput,
    message_id: str,
    *,
    task_queue: str,
    summary: str,
) -> JsonValue:
    """Start a session with its first message, in one call of the server; its reply.

    Raises:
        MessageRefusedError: The run refuses the message, and ends.
        CommandError: The id is taken, or the server refuses the run.
    """
    start = _start_operation(id, given, task_queue, summary)
    # The SDK's own overloads are partly untyped.
    update: Callable[..., Awaitable[JsonValue]] = cast(
        "Any", client
    ).execute_update_with_start_workflow
    try:
        return await update(SEND_MESSAGE, first, start_workflow_operation=start, id=message_id)
    except WorkflowAlreadyStartedError:
        raise CommandError(f"run {id!r} already exists; talk to it with `--session {id}`") from None
    except WorkflowUpdateFailedError as error:
        if not _is_early(error):
            _raise_refusal(error)
    except (WorkflowUpdateRPCTimeoutOrCancelledError, RPCError) as error:
        raise update_error(id, "send_message", error) from None
    return await send_message(Run(client, id), first, message_id)


def _start_operation(
    id: str, team_input: TeamInput, task_queue: str, summary: str
) -> "WithStartWorkflowOperation[Any, Any]":
    """Return the start of a session that never ran, for the call that also sends a message."""
    return cast(
        "WithStartWorkflowOperation[Any, Any]",
        WithStartWorkflowOperation(
            WORKFLOW,
            team_input.model_copy(update={"first_message": True}),
            id=id,
            task_queue=task_queue,
            static_summary=summary,
            memo={STARTED: summary},
            id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
        ),
    )


async def send_message(
    run: Run, asked: SessionInput, id: str, taken: Callable[[], None] = lambda: None
) -> JsonValue:
    """Send a message, and wait for its reply, however long it takes.

    Args:
        run: The session.
        asked: The message.
        id: Of the message: sent again with the same id, it is the same message.
        taken: Called when the run has taken or refused it.

    Raises:
        MessageRefusedError: The run refuses the message, or ends without a reply.
        CommandError: JSON cannot carry the message, or the server does not answer.
    """
    check_sent(SEND_MESSAGE, asked)
    # The SDK's own overloads are partly untyped.
    update: Callable[..., Awaitable[Handle]] = cast("Any", run.handle).start_update
    until = monotonic() + _LOST_SECONDS
    while True:
        try:
            handle = await update(
                SEND_MESSAGE, asked, id=id, wait_for_stage=WorkflowUpdateStage.ACCEPTED
            )
            taken()
            return await handle.result()
        except WorkflowUpdateFailedError as error:
            if not _is_early(error):
                _raise_refusal(error)
        except (WorkflowUpdateRPCTimeoutOrCancelledError, RPCError) as error:
            is_lost = isinstance(error, RPCError) and task_was_lost(error)
            if not is_lost or monotonic() > until:
                raise update_error(run.id, "send_message", error) from None
        await asyncio.sleep(_AGAIN_SECONDS)  # until the run takes messages again


async def reply_within(
    run: Run, asked: SessionInput, id: str, seconds: float, *, taking: float = 0.0
) -> MessageProgress:
    """Send a message, and wait some seconds for its reply.

    If the run has not taken it within this time, the run may still take it later; sent again with
    its id, it is the same message.

    Args:
        run: The session.
        asked: The message.
        id: Of the message.
        seconds: How long to wait for the reply.
        taking: How long to wait at least until the run takes it.

    Raises:
        MessageRefusedError: The run refuses the message, or ends without a reply.
        CommandError: The server does not answer.
    """
    taken = asyncio.Event()
    until = monotonic() + seconds
    # A time limit around the call itself would look like a server that does not answer.
    sending = asyncio.create_task(send_message(run, asked, id, taken.set))
    waiting = asyncio.create_task(taken.wait())
    try:
        both = {sending, waiting}
        await asyncio.wait(both, timeout=max(seconds, taking), return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait({sending}, timeout=max(0.0, until - monotonic()))
        if sending.done():
            return MessageProgress(True, MessageReply(await sending))
        return MessageProgress(taken.is_set())
    finally:
        for task in (sending, waiting):
            task.cancel()
        await asyncio.gather(sending, waiting, return_exceptions=True)


def _is_early(error: WorkflowUpdateFailedError) -> bool:
    cause = error.cause
    return isinstance(cause, ApplicationError) and cause.type == NOT_YET


def _raise_refusal(error: WorkflowUpdateFailedError) -> NoReturn:
    cause = error.cause
    code = (cause.type or "") if isinstance(cause, ApplicationError) else ""
    text = cause.message if isinstance(cause, ApplicationError) else str(cause)
    raise MessageRefusedError(code, text) from None
