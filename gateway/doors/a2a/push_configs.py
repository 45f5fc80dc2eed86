"""Push configurations of tasks: they stand in the run, which sends the messages itself."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Protocol

from coterie.activities.push_addresses import push_refusal
from coterie.activities.workspace.web_access import WebAccess
from coterie.dsl.values import Documented
from coterie.gateway.doors.a2a.task_views import context_of
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.operations.operation import Operation, RunAsked
from coterie.gateway.operations.operations_table import operation_named
from coterie.gateway.operations.performance import perform
from coterie.gateway.operations.run_access import FoundRun, RunAccess
from coterie.gateway.operations.run_permissions import trail_name
from coterie.runs.call_errors import has_ended
from coterie.workflows.core.messages import MAX_PUSH_TOKEN, MAX_PUSH_URL, PushInput
from coterie.workflows.core.views import PushReceiver

DEFAULT_ID = "default"
"""Of a configuration whose client names none."""
_MAX_ID = 100


class PushSettings(Protocol):
    """What a client asks for, as the protocol has it."""

    id: str
    url: str
    token: str


class PushCount(Documented):
    """How many push configurations a run has."""

    receivers: int


def checked_push(asked: PushSettings, credentials: str, access: WebAccess) -> PushInput:
    """Return what is sent to the run.

    Raises:
        Rejection: The address is not allowed, or the configuration has a lasting secret.
    """
    if credentials:
        raise Rejection(
            422,
            "invalid",
            "`authentication` is refused: its credentials would stand in the history of the run",
            "Send a `token` of this task alone; each message repeats it.",
        )
    sizes = ((asked.id, _MAX_ID, "id"), (asked.url, MAX_PUSH_URL, "url"))
    for text, most, name in (*sizes, (asked.token, MAX_PUSH_TOKEN, "token")):
        if len(text) > most:
            raise Rejection(422, "invalid", f"`{name}` has more than {most} characters")
    refusal = push_refusal(asked.url, access)
    if refusal is not None:
        raise Rejection(422, "invalid", refusal)
    return PushInput(id=asked.id or DEFAULT_ID, url=asked.url, token=asked.token)


async def set_push(
    access: RunAccess, identity: Identity, found: FoundRun, given: PushInput
) -> None:
    """Give a configuration to the run, or take one away.

    Raises:
        CommandError: The identity may not, the run has ended, or no worker answers.
    """
    if not found.is_open:
        raise has_ended(found.run.id)
    context = context_of(found.description)
    by = trail_name(identity, found.team)
    given = given.model_copy(update={"context": context, "by": by})
    await perform(access, _push_operation(given), RunAsked(run=found.run.id), identity)


async def receivers_of(found: FoundRun) -> tuple[PushReceiver, ...]:
    """Return the configurations of a run; needs a worker.

    Raises:
        CommandError: No worker answers.
    """
    return (await found.run.status()).push


def _push_operation(given: PushInput) -> Operation[RunAsked, PushCount]:
    async def push(access: RunAccess, asked: RunAsked, _: Identity) -> PushCount:
        return PushCount(receivers=await access.run(asked.run).push(given))

    handler: Callable[[RunAccess, RunAsked, Identity], Awaitable[PushCount]] = push
    return replace(operation_named("message"), name="push", handler=handler)
