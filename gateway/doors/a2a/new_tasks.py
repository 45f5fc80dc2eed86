"""Start the run of a task: the id of its message makes it one run, however often it comes."""

import re
from dataclasses import replace

from coterie.dsl.json_values import json_digest
from coterie.dsl.values import Json
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.operation import Operation
from coterie.gateway.operations.operations_table import operation_named
from coterie.gateway.operations.performance import perform
from coterie.gateway.operations.run_access import FoundRun, RunAccess
from coterie.gateway.operations.run_starts import StartAsked, StartedRun, start_team
from coterie.runs.call_errors import UnknownRun
from coterie.runs.new_runs import IdTaken
from coterie.workflows.core.memo_keys import THREAD

_DIGITS = 20
_OTHER = re.compile(r"[^A-Za-z0-9_.-]+")
_MAX_NAME = 100


def task_id(team: str, identity: Identity, key: str) -> str:
    """Return the id of the run for what a client names: a message, or a conversation.

    Another client that uses the same name gets another run.
    """
    name = _OTHER.sub("-", team).strip("-")[:_MAX_NAME] or "run"
    digest = json_digest("a2a", identity.method, identity.subject, team, key)
    return f"{name}-{digest[:_DIGITS]}"


async def start_task(
    access: RunAccess, identity: Identity, team: str, id: str, thread: str, context: Json
) -> FoundRun:
    """Start a run, unless it has been started before; return it.

    Args:
        access: The runs.
        identity: Who starts it.
        team: The team.
        id: Of the run.
        thread: The conversation that it belongs to; empty for its own.
        context: With which it starts.

    Raises:
        CommandError: The identity may not, the context does not fit, or something else has the id.
    """
    found = await existing_task(access, team, id)
    if found is not None:
        return found
    asked = StartAsked(team=team, id=id, context=context)
    try:
        await perform(access, _start_operation(thread), asked, identity)
    except IdTaken:  # the same message came twice at once
        found = await existing_task(access, team, id)
        if found is None:
            raise
        return found
    return await access.existing(id)


async def existing_task(access: RunAccess, team: str, id: str) -> FoundRun | None:
    """Return the run of a task of a team; None if there is none."""
    try:
        found = await access.find(id)
    except UnknownRun:
        return None
    return found if found is not None and found.team == team else None


def _start_operation(thread: str) -> Operation[StartAsked, StartedRun]:
    """Return the operation `start` for a run that belongs to a conversation."""

    async def start(access: RunAccess, asked: StartAsked, identity: Identity) -> StartedRun:
        return await start_team(access, asked, identity, {THREAD: thread} if thread else {})

    return replace(operation_named("start"), handler=start)
