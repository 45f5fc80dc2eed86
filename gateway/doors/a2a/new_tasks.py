"""Start the run of a task: the id of its message makes it one run, however often it comes."""

import re

from coterie.dsl.json_values import json_digest
from coterie.dsl.values import Json
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.run_access import FoundRun, RunAccess
from coterie.gateway.operations.run_starts import StartAsked
from coterie.gateway.sessions.session_runs import run_of_team, start_once
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

    async def is_ours() -> bool:
        return await run_of_team(access, team, id) is not None

    if not await is_ours():
        asked = StartAsked(team=team, id=id, context=context)
        await start_once(access, identity, asked, is_ours, {THREAD: thread} if thread else {})
    return await access.existing(id)
