"""Find the run of a conversation.

Only Temporal remembers: the ids of runs come from digests, and the histories of sessions say which
message was their newest.
"""

import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Final

from pydantic import JsonValue
from temporalio.service import RPCError

from coterie.activities.contracts import AgentResponse, TokenUsage
from coterie.arguments import id_problem
from coterie.gateway.console.chat.session_history import SessionHistory, is_message, read_session
from coterie.gateway.doors.openai.conversation import SentConversation, digest_of
from coterie.gateway.doors.openai.exposed_teams import is_callable
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.operations.run_access import RunAccess
from coterie.runs.call_errors import UnknownRun, call_error, list_error
from coterie.runs.histories.recorded_calls import calls_by_event
from coterie.runs.histories.recorded_events import UpdateAccepted, UpdateCompleted
from coterie.storage.histories import WORKFLOW

BUCKET_SECONDS: Final = 1_800
"""The same opening within this time, or up to twice as long, is the same conversation."""
_MAX_SAME: Final = 20
"""Conversations with the same opening within that time."""
_MAX_CANDIDATES: Final = 20


@dataclass(frozen=True, slots=True)
class RunPlace:
    """The run that takes a message, or that a message starts."""

    run: str
    last: str | None = None
    """The id of its newest message; None if it has none."""
    exists: bool = False


@dataclass(frozen=True, slots=True)
class SessionLog:
    """What the newest part of a session's history says."""

    last: str | None
    usage: dict[str, TokenUsage] = field(default_factory=dict[str, TokenUsage])
    """What the run used for its newest messages, by their ids."""
    replies: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])


@dataclass(frozen=True, slots=True)
class ConversationRuns:
    """The runs of the conversations of one identity with one team."""

    access: RunAccess
    identity: Identity
    team: str

    async def named(self, session: str) -> RunPlace:
        """Return the run of a session that a client names: a run with this id, or one of its own.

        Raises:
            CommandError: The server does not answer.
        """
        if id_problem(session) is None and await self.is_ours(session):
            return RunPlace(session, exists=True)
        run = self._id(digest_of("session", *self._owner(), session), "")
        return RunPlace(run, exists=await self.is_ours(run))

    async def session_for(self, asked: SentConversation) -> RunPlace:
        """Return the session whose newest message precedes this one, or where a new one begins.

        Raises:
            CommandError: There are too many, or the server does not answer.
        """
        ids = self._recent(asked.opening)
        seen: set[str] = set()
        for run in ids:
            seen.add(run)
            place = await self._place_if_fits(run, asked)
            if place is not None:
                return place
        if asked.answered is None:
            return await self._new(ids[0], asked)
        async for run in self._latest_runs(asked.opening):
            if run not in seen and (place := await self._place_if_fits(run, asked)) is not None:
                return place
        # the conversation was changed, or began elsewhere: it continues in a session of its own
        own = self._id(asked.opening, asked.turn.id[:12])
        return RunPlace(own, exists=await self.is_ours(own))

    async def run_for(self, asked: SentConversation) -> RunPlace:
        """Return the run of a message to a team that is not a session."""
        ids = self._recent(asked.turn.id)
        for run in ids:
            if await self.is_ours(run):
                return RunPlace(run, exists=True)
        if asked.collects:
            async for run in self._latest_runs(asked.turn.id):
                if await self.is_ours(run):
                    return RunPlace(run, exists=True)
        return RunPlace(ids[0])

    async def log(self, run: str) -> SessionLog:
        """Read the newest messages of a session; raises CommandError."""
        try:
            return _log_of(await read_session(self.access.pages, run, None, 1))
        except RPCError as error:
            raise call_error(run, error) from None

    def scope(self, person: str) -> tuple[str, ...]:
        """Return what separates equal conversations of different clients."""
        return (*self._owner(), person)

    def _owner(self) -> tuple[str, ...]:
        return (self.identity.method, self.identity.subject, self.team)

    def _id(self, digest: str, suffix: str) -> str:
        return f"{self.team}-chat-{digest}{'-' if suffix else ''}{suffix}"

    def _recent(self, digest: str) -> tuple[str, str]:
        """Return the ids of runs that began just now, and a little earlier."""
        bucket = int(time.time()) // BUCKET_SECONDS
        return self._id(digest, f"{bucket:x}"), self._id(digest, f"{bucket - 1:x}")

    async def _new(self, base: str, asked: SentConversation) -> RunPlace:
        for number in range(1, _MAX_SAME + 1):
            run = base if number == 1 else f"{base}.{number}"
            if not await self.is_ours(run):
                return RunPlace(run)
            if number > 1 and (place := await self._place_if_fits(run, asked)) is not None:
                return place
        raise Rejection(
            429,
            "too_many_same",
            f"{_MAX_SAME} conversations with this opening have begun within half an hour",
            "Name the session in the header `x-coterie-session`.",
        )

    async def _place_if_fits(self, run: str, asked: SentConversation) -> RunPlace | None:
        if not await self.is_ours(run):
            return None
        last = (await self.log(run)).last
        return RunPlace(run, last, exists=True) if asked.follows(last) else None

    async def is_ours(self, run: str) -> bool:
        """Return whether there is such a run of the team, and the identity may use it."""
        try:
            found = await self.access.find(run)
        except UnknownRun:
            return False
        return (
            found is not None and found.team == self.team and is_callable(self.identity, self.team)
        )

    async def _latest_runs(self, digest: str) -> AsyncGenerator[str]:
        """Yield the ids of the latest runs of a conversation."""
        start = self._id(digest, "").replace("'", "''")
        query = f"WorkflowType = '{WORKFLOW}' AND WorkflowId STARTS_WITH '{start}'"
        seen: set[str] = set()
        try:
            async for execution in self.access.client.list_workflows(query, limit=_MAX_CANDIDATES):
                if execution.id not in seen:
                    seen.add(execution.id)
                    yield execution.id
        except RPCError as error:
            raise list_error(error) from None


def _log_of(history: SessionHistory) -> SessionLog:
    """Read which message was the newest, and what the run used for each.

    It works on one message at a time.
    """
    last: str | None = None
    usage: dict[str, TokenUsage] = {}
    replies: dict[str, JsonValue] = {}
    for part in history.parts:
        calls = calls_by_event(part.events)
        waiting: list[str] = []
        for event in part.events:
            if isinstance(event, UpdateAccepted) and is_message(event):
                last = event.update
                waiting.append(event.update)
            elif isinstance(event, UpdateCompleted) and event.update in waiting:
                waiting.remove(event.update)
                if event.value is not None:
                    replies[event.update] = event.value.json
            call = calls.get(event.id)
            if call is None or not isinstance(call.answer, AgentResponse):
                continue
            if waiting and call.answer.usage is not None:
                usage[waiting[0]] = usage.get(waiting[0], TokenUsage()) + call.answer.usage
    return SessionLog(last, usage, replies)
