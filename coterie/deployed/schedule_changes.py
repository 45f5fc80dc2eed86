"""Compare the schedules of a team with the server, and make the server's like the document's."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Literal, NamedTuple
from uuid import uuid4

from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import TaskQueueKind
from temporalio.api.schedule.v1 import Schedule as RawSchedule
from temporalio.api.workflow.v1 import NewWorkflowExecutionInfo
from temporalio.api.workflowservice.v1 import UpdateScheduleRequest
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleDescription,
    ScheduleState,
)
from temporalio.service import RPCError, RPCStatusCode

from coterie.deployed.declared_schedules import (
    DECLARED,
    OWNER,
    DeclarationMark,
    DeclaredSchedule,
    owner_of,
    schedule_id,
)
from coterie.deployed.registry_changes import ChangeRefused
from coterie.dsl.model.sections.schedule_trigger import ScheduleSection
from coterie.failures import CommandError
from coterie.workflows.core.senders import SENDER

_TRIES = 3


class FoundSchedule(NamedTuple):
    """A schedule on the server that is ours."""

    state: ScheduleState
    declared: DeclarationMark | None
    """None: somebody has replaced what it starts."""
    token: bytes
    raw: RawSchedule
    """As the server holds it."""


class ScheduleChange(NamedTuple):
    """What a deployment does to one schedule."""

    act: Literal["create", "replace", "delete", "unchanged"]
    name: str
    id: str
    wanted: DeclaredSchedule | None
    """None: it is deleted."""
    found: FoundSchedule | None


class Ownership(NamedTuple):
    """Whose schedules a deployment looks at."""

    client: Client
    task_queue: str
    team: str


async def schedule_changes(
    owner: Ownership, declared: Mapping[str, ScheduleSection], earlier: Iterable[str]
) -> list[ScheduleChange]:
    """Return what differs between the document and the server.

    Args:
        owner: Of the schedules.
        declared: The schedules of the document.
        earlier: The names that schedules of earlier versions had.

    Raises:
        CommandError: Somebody else has made a schedule of that id.
    """
    changes: list[ScheduleChange] = []
    for name in dict.fromkeys((*declared, *sorted(earlier))):
        section = declared.get(name)
        wanted = (
            None
            if section is None
            else DeclaredSchedule(owner.task_queue, owner.team, name, section)
        )
        id = schedule_id(owner.task_queue, owner.team, name)
        found = await find_schedule(owner, id)
        change = await _change(owner, name, id, wanted, found)
        if change is not None:
            changes.append(change)
    return changes


async def _change(
    owner: Ownership,
    name: str,
    id: str,
    wanted: DeclaredSchedule | None,
    found: FoundSchedule | None,
) -> ScheduleChange | None:
    if wanted is None:
        return None if found is None else ScheduleChange("delete", name, id, None, found)
    if found is None:
        return ScheduleChange("create", name, id, wanted, None)
    act = "unchanged" if await _is_alike(owner, wanted, found) else "replace"
    return ScheduleChange(act, name, id, wanted, found)


async def _is_alike(owner: Ownership, wanted: DeclaredSchedule, found: FoundSchedule) -> bool:
    """Return whether the server has what the document says, and nobody has edited it there."""
    if found.declared != wanted.declared:
        return False
    ours = await _raw(owner, wanted.as_schedule(found.state))
    theirs = found.raw
    return (
        ours.spec == theirs.spec
        and ours.policies == theirs.policies
        and _start_of(ours) == _start_of(theirs)
    )


def _start_of(schedule: RawSchedule) -> NewWorkflowExecutionInfo:
    """Return all that a schedule starts, but for who deployed it; empty if it starts nothing."""
    start = NewWorkflowExecutionInfo()
    start.CopyFrom(schedule.action.start_workflow)
    start.header.fields.pop(SENDER, None)
    start.task_queue.kind = TaskQueueKind.TASK_QUEUE_KIND_NORMAL
    return start


async def _raw(owner: Ownership, schedule: Schedule) -> RawSchedule:
    # The SDK's own update sends no token, and its descriptions compare lists with tuples.
    return await schedule._to_proto(owner.client)  # pyright: ignore[reportPrivateUsage]


async def find_schedule(owner: Ownership, id: str) -> FoundSchedule | None:
    """Return a schedule of ours; None if there is none.

    Raises:
        CommandError: Somebody else has made it.
    """
    try:
        description = await owner.client.get_schedule_handle(id).describe()
    except RPCError as error:
        if error.status == RPCStatusCode.NOT_FOUND:
            return None
        raise CommandError(f"the server rejects a look at {id}: {error.message}") from None
    memo: Mapping[str, object] = await description.memo()
    if memo.get(OWNER) != owner_of(owner.task_queue, owner.team):
        raise CommandError(
            f"the schedule {id!r} on the server was not made by `coterie deploy` for this team; "
            "delete it there, or rename the trigger"
        )
    raw = description.raw_description
    declared = await _declaration(owner, description)
    return FoundSchedule(description.schedule.state, declared, raw.conflict_token, raw.schedule)


async def _declaration(
    owner: Ownership, description: ScheduleDescription
) -> DeclarationMark | None:
    action = description.schedule.action
    if not isinstance(action, ScheduleActionStartWorkflow) or action.memo is None:
        return None
    payload: Any = action.memo.get(DECLARED)
    if not isinstance(payload, Payload):
        return None
    try:
        (declared,) = await owner.client.data_converter.decode([payload], [DeclarationMark])
    except (ValueError, RuntimeError):
        return None
    return declared if isinstance(declared, DeclarationMark) else None


async def apply_schedule(
    owner: Ownership, change: ScheduleChange, is_current: Callable[[], Awaitable[bool]]
) -> None:
    """Make one schedule on the server like the document's.

    The server takes an update with an old token as if it had made it, so each is read back; and
    the deployment looks at the registry between its look at the schedule and its update, so that
    a later deployment's schedule stays.

    Raises:
        ChangeRefused: Another deployment came in between.
        CommandError: The server rejects the schedule.
    """
    try:
        for _ in range(_TRIES):
            found = await find_schedule(owner, change.id)
            if not await is_current():
                break
            if await _try_once(owner, change, found):
                return
    except RPCError as error:
        raise CommandError(
            f"the server rejects the schedule {change.name!r}: {error.message}"
        ) from None
    raise ChangeRefused(
        f"the schedule {change.name!r} of {owner.team!r} changed meanwhile: another deployment is "
        "going on; look at --plan, and deploy again"
    )


async def _try_once(owner: Ownership, change: ScheduleChange, found: FoundSchedule | None) -> bool:
    """Apply the change once; return whether the server then has it."""
    wanted = change.wanted
    if wanted is None:
        if found is not None:
            await _delete(owner, change.id)
        return True
    if found is None:
        await _create(owner, wanted)
    elif not await _is_alike(owner, wanted, found):
        await _replace(owner, wanted, found)
    after = await find_schedule(owner, change.id)
    return after is not None and after.declared == wanted.declared


async def _delete(owner: Ownership, id: str) -> None:
    try:
        await owner.client.get_schedule_handle(id).delete()
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:  # somebody was first
            raise


async def _create(owner: Ownership, wanted: DeclaredSchedule) -> None:
    state = ScheduleState(paused=wanted.section.paused)
    memo = {OWNER: owner_of(owner.task_queue, owner.team)}
    with suppress(ScheduleAlreadyRunningError):  # the next look tells who was first
        await owner.client.create_schedule(wanted.id, wanted.as_schedule(state), memo=memo)


async def _replace(owner: Ownership, wanted: DeclaredSchedule, found: FoundSchedule) -> None:
    """Replace the whole schedule, but for what an operator has set: its pause, its note."""
    state = found.state
    if found.declared is not None and found.declared.paused != wanted.section.paused:
        state = ScheduleState(paused=wanted.section.paused, note=state.note)
    schedule = wanted.as_schedule(state)
    request = UpdateScheduleRequest(
        namespace=owner.client.namespace,
        schedule_id=wanted.id,
        schedule=await _raw(owner, schedule),
        conflict_token=found.token,
        identity=owner.client.identity,
        request_id=str(uuid4()),
    )
    await owner.client.workflow_service.update_schedule(request)
