"""Find the run that a client talks with, or start it once; and send it messages that count once."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from pydantic import JsonValue

from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.failures import CommandError
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.error_reports import Rejection, failed_request
from coterie.gateway.operations.operations_table import operation_named, performed
from coterie.gateway.operations.performance import perform
from coterie.gateway.operations.run_access import FoundRun, RunAccess
from coterie.gateway.operations.run_starts import StartAsked, StartedRun, start_team, unknown_team
from coterie.gateway.operations.run_steering import MessageOutcome
from coterie.runs.call_errors import UnknownRun
from coterie.runs.histories.recorded_plans import plan_of_run

_WAIT: Final = 45.0
"""Seconds of one request for a reply."""


async def run_of_team(access: RunAccess, team: str, run: str) -> FoundRun | None:
    """Return a run of a team; None if there is none of this id, or it is that of another team."""
    try:
        found = await access.find(run)
    except UnknownRun:
        return None
    return found if found is not None and found.team == team else None


async def plan_for(
    access: RunAccess, team: str, identity: Identity, found: FoundRun | None
) -> Plan:
    """Return the plan of a run; if it has none yet, the plan that a start of its team gives it.

    Raises:
        CommandError: There is no such team, or it cannot be compiled here.
        InvalidDocument: Its document has problems.
    """
    if found is not None:
        plan = await plan_of_run(access.client, found.run.id, found.description.run_id)
        if plan is not None:
            return plan
    named = await access.teams.find(team)
    if named is None:
        raise unknown_team(await access.teams.names(), team, identity)
    return named.compiled.plan


async def start_once(
    access: RunAccess,
    identity: Identity,
    asked: StartAsked,
    is_ours: Callable[[], Awaitable[bool]],
    memo: Mapping[str, str] | None = None,
) -> bool:
    """Start a run, unless the same request has just started it; return whether this call did.

    Args:
        access: The runs.
        identity: Who starts it.
        asked: The start, with its id.
        is_ours: Tells whether the run that has the id already is the one that was asked for.
        memo: What lists show of it beside the name of its team.

    Raises:
        CommandError: The identity may not, the context does not fit, or something else has the id.
    """

    async def start(access: RunAccess, asked: StartAsked, identity: Identity) -> StartedRun:
        return await start_team(access, asked, identity, memo or {})

    try:
        await perform(access, replace(operation_named("start"), handler=start), asked, identity)
    except CommandError as error:
        if failed_request(error).report.code != "id_taken" or not await is_ours():
            raise
        return False
    return True


class ReplyOfSession(NamedTuple):
    """What a session answered."""

    value: JsonValue


@dataclass(frozen=True, slots=True)
class MessageToSession:
    """A message of somebody to a session; sent again with its id, it is the same one."""

    access: RunAccess
    identity: Identity
    run: str
    id: str
    value: JsonValue
    after: str | None = None
    """The id of the newest message of the session, as far as the sender knows; None: any."""

    async def take(self) -> None:
        """Send it, and wait until the session has it, not for the reply.

        Raises:
            CommandError: The identity may not, the session refuses, or no worker takes it.
        """
        if not (await self.sent(0)).is_taken:
            raise self._not_taken()

    async def reply(
        self, rounds: int | None = None, *, waits_for_worker: bool = False
    ) -> ReplyOfSession | None:
        """Send it, and wait for the reply; None if there is none after some rounds of 45 seconds.

        Args:
            rounds: How many; None: as long as it takes.
            waits_for_worker: Whether to wait too while no worker takes it.

        Raises:
            CommandError: The identity may not, the session refuses, or no worker takes it.
        """
        while rounds is None or rounds > 0:
            outcome = await self.sent(_WAIT)
            if outcome.is_answered:
                return ReplyOfSession(outcome.reply)
            if not outcome.is_taken and not waits_for_worker:
                raise self._not_taken()
            rounds = None if rounds is None else rounds - 1
        return None

    async def sent(self, wait: float) -> MessageOutcome:
        """Send it, and wait some seconds for the reply; raises CommandError."""
        asked: Json = {
            "run": self.run, "message": self.value, "message_id": self.id, "after": self.after,
            "wait": wait,
        }  # fmt: skip
        return await performed(self.access, "message", asked, self.identity, MessageOutcome)

    def _not_taken(self) -> Rejection:
        return Rejection(
            503,
            "no_worker",
            f"no worker has taken the message to run {self.run!r}",
            "Start `coterie worker` in the project, then send the message again: it counts once.",
        )
