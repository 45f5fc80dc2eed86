"""Steer runs: hold, change, redirect and stop them, and talk to sessions.

Each records in the run who asked for it. The client sends no name.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated, Literal
from uuid import uuid4

from pydantic import Field, JsonValue

from coterie.control.run_signals import send_cancel, send_control
from coterie.dsl.model.step_kinds.wait_step import WhileBusy
from coterie.dsl.sizes import MAX_SAID_LENGTH
from coterie.dsl.values import Documented
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.operations.operation import (
    AnyOperation,
    ContextUpdates,
    Done,
    Input,
    MessageId,
    Name,
    Operation,
    Output,
    RunAsked,
    SteeringAsked,
)
from coterie.gateway.operations.permissions import may
from coterie.gateway.operations.run_access import FoundRun, RunAccess
from coterie.gateway.operations.run_permissions import require, trail_name, update_id
from coterie.runs.call_errors import has_ended
from coterie.runs.run_client import Run
from coterie.runs.sessions import reply_within
from coterie.workflows.core.messages import (
    AmendInput,
    RedirectInput,
    SayInput,
    SessionInput,
    SkipInput,
)
from coterie.workflows.core.requests import Decision

SaidText = Annotated[str, Field(min_length=1, max_length=MAX_SAID_LENGTH)]
_MAX_WAIT = 50.0
_TAKING_SECONDS = 8.0
"""How long a run may take to take a message; a live worker needs a fraction of it."""


class AmendAsked(SteeringAsked):
    """The input of `amend`."""

    updates: ContextUpdates = Field(min_length=1)
    """`{dotted path: value}`: changes to the context at the next step."""


class RedirectAsked(SteeringAsked):
    """The input of `redirect`."""

    team: Name
    """The next team, when the current one ends."""


class SayAsked(RunAsked):
    """The input of `say`."""

    text: SaidText
    """The model gets it at its next turn, as a message of the user."""
    step: Name | None = None
    """`team/step` of the agent; optional when just one agent is at work."""
    message_id: MessageId | None = None
    """Sent again by you with this id, it counts once, and has the same answer."""


class SayOutcome(Documented):
    """Which agent reads a message."""

    run: str
    by: str
    """The name in the trail."""
    step: str
    """`team/step` of the agent."""


class TaskSkipAsked(SteeringAsked):
    """The input of `skip`."""

    task: Name
    """`team/task`, or the task of the current team."""
    value: JsonValue = None
    """The data of the skipped task."""
    digest: str | None = Field(default=None, max_length=64)
    """Of the request of the task that you have seen: refused if it has changed."""
    message_id: MessageId | None = None
    """Sent again by you with this id, it counts once, and has the same answer."""


class MessageAsked(RunAsked):
    """The input of `message`."""

    message: JsonValue
    """The next message of the session."""
    while_busy: WhileBusy | None = None
    """If the session works on another message: whether this one waits (`queue`), or the agent at
    work reads it at its next turn (`steer`, which needs the role `operator`). Default: as the
    team says."""
    message_id: MessageId | None = None
    """Of a message that was sent before: the run works on it once, and answers again."""
    after: MessageId | None = None
    """The id of the newest message that you know: refused if the session has a newer one."""
    wait: float = Field(default=30.0, ge=0, le=_MAX_WAIT)
    """Seconds to wait for the reply; with 0, only until the run takes the message."""


class MessageOutcome(Documented):
    """The reply to a message, or the id with which to ask for it again."""

    run: str
    message_id: str
    is_taken: bool
    """Whether the run has it; if not, no worker answers: send it again with its id."""
    is_answered: bool
    """If not, send the same message with its id again, to wait for its reply."""
    reply: JsonValue = None


async def _open_run(access: RunAccess, asked: RunAsked) -> FoundRun:
    found = await access.existing(asked.run)
    if not found.is_open:
        raise has_ended(asked.run)
    return found


async def _control(
    access: RunAccess, asked: SteeringAsked, identity: Identity, what: Literal["pause", "resume"]
) -> Done:
    found = await _open_run(access, asked)
    by = trail_name(identity, found.team)
    await send_control(found.run, what, by, asked.why)
    return Done(run=asked.run, by=by)


async def _pause(access: RunAccess, asked: SteeringAsked, identity: Identity) -> Done:
    return await _control(access, asked, identity, "pause")


async def _resume(access: RunAccess, asked: SteeringAsked, identity: Identity) -> Done:
    return await _control(access, asked, identity, "resume")


async def _cancel(access: RunAccess, asked: SteeringAsked, identity: Identity) -> Done:
    found = await _open_run(access, asked)
    by = trail_name(identity, found.team)
    await send_cancel(found.run, by, asked.why)
    return Done(run=asked.run, by=by)


async def _signed_steering(
    access: RunAccess, asked: RunAsked, identity: Identity
) -> tuple[Run, str]:
    """Return an open run with the signer of what an identity sends, and its name in the trail."""
    found = await _open_run(access, asked)
    by = trail_name(identity, found.team)
    found.run.signer = access.signer(by, identity)
    return found.run, by


async def _amend(access: RunAccess, asked: AmendAsked, identity: Identity) -> Done:
    run, by = await _signed_steering(access, asked, identity)
    await run.amend(AmendInput(updates=asked.updates, by=by, why=asked.why))
    return Done(run=asked.run, by=by)


async def _redirect(access: RunAccess, asked: RedirectAsked, identity: Identity) -> Done:
    run, by = await _signed_steering(access, asked, identity)
    await run.redirect(RedirectInput(team=asked.team, by=by, why=asked.why))
    return Done(run=asked.run, by=by)


async def _say(access: RunAccess, asked: SayAsked, identity: Identity) -> SayOutcome:
    run, by = await _signed_steering(access, asked, identity)
    say_input = SayInput(text=asked.text, step=asked.step, by=by)
    step = await run.say(say_input, update_id=update_id(identity, asked.message_id))
    return SayOutcome(run=asked.run, by=by, step=step)


async def _skip(access: RunAccess, asked: TaskSkipAsked, identity: Identity) -> Decision:
    run, by = await _signed_steering(access, asked, identity)
    skip_input = SkipInput(
        task=asked.task, value=asked.value, by=by, why=asked.why, digest=asked.digest
    )
    return await run.skip(skip_input, update_id=update_id(identity, asked.message_id))


async def _message(access: RunAccess, asked: MessageAsked, identity: Identity) -> MessageOutcome:
    found = await _open_run(access, asked)
    if asked.while_busy == "steer":  # which does what `say` does
        require(may(identity, (Role.OPERATOR,), found.team))
    message_id = asked.message_id or uuid4().hex
    by = trail_name(identity, found.team)
    session_input = SessionInput(
        message=asked.message, by=by, after=asked.after, while_busy=asked.while_busy
    )
    progress = await reply_within(
        found.run, session_input, message_id, asked.wait, taking=_TAKING_SECONDS
    )
    reply = progress.reply
    return MessageOutcome(
        run=asked.run,
        message_id=message_id,
        is_taken=progress.is_taken,
        is_answered=reply is not None,
        reply=None if reply is None else reply.value,
    )


def _steering(
    name: str,
    sentence: str,
    input: type[Input],
    output: type[Output],
    handler: Callable[[RunAccess, Input, Identity], Awaitable[Output]],
) -> Operation[Input, Output]:
    """Return the operation of operators at `/runs/{run}/NAME`."""
    path = f"/runs/{{run}}/{name}"
    return Operation(name, sentence, "POST", path, (Role.OPERATOR,), "run", input, output, handler)


OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(
        "message",
        "Sends a message to a session, and waits for its reply.",
        "POST",
        "/runs/{run}/messages",
        (Role.STARTER, Role.OPERATOR),
        "run",
        MessageAsked,
        MessageOutcome,
        _message,
    ),
    _steering(
        "pause",
        "Starts nothing new in a run, and stops its deadlines.",
        SteeringAsked,
        Done,
        _pause,
    ),
    _steering("resume", "Resumes a paused run.", SteeringAsked, Done, _resume),
    _steering("amend", "Changes the context of a run at its next step.", AmendAsked, Done, _amend),
    _steering(
        "say",
        "Tells an agent at work something, which its model reads at its next turn.",
        SayAsked,
        SayOutcome,
        _say,
    ),
    _steering(
        "redirect",
        "Sends a run to another team when its current one ends.",
        RedirectAsked,
        Done,
        _redirect,
    ),
    _steering("skip", "Skips a task, now or when it starts.", TaskSkipAsked, Decision, _skip),
    _steering("cancel", "Stops a run for good, after its cleanup.", SteeringAsked, Done, _cancel),
)
