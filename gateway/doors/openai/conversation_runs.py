"""Find the run of a conversation.

Only Temporal remembers: the ids of runs come from digests, and the histories of sessions say which
message was their newest.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Final

from pydantic import JsonValue
from temporalio.service import RPCError, RPCStatusCode

from coterie.activities.contracts import AgentResponse, TokenUsage
from coterie.arguments import id_problem
from coterie.gateway.doors.openai.conversation import SentConversation, digest_of
from coterie.gateway.doors.openai.exposed_teams import is_callable
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.operations.run_access import FoundRun, RunAccess
from coterie.gateway.sessions.session_history import SessionHistory, is_message, read_session
from coterie.gateway.sessions.session_runs import run_of_team
from coterie.gateway.streams.history_pages import PageRequest
from coterie.runs.call_errors import call_error, list_error
from coterie.runs.histories.recorded_calls import calls_by_event
from coterie.runs.histories.recorded_events import RunStarted, UpdateAccepted, UpdateCompleted
from coterie.storage.histories import WORKFLOW
from coterie.storage.wire import text_of
from coterie.workflows.core.memo_keys import OWNER
from coterie.workflows.core.messages import SessionInput

BUCKET_SECONDS: Final = 1_800
"""The same opening within this time, or up to twice as long, is the same conversation."""
_MAX_SAME: Final = 20
"""Conversations with the same opening within that time."""
_MAX_CANDIDATES: Final = 20
_COLLECTED: Final = 50
"""Messages among which one is looked for whose answer waited."""


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
    messages: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """What the newest messages say, by their ids."""
    usage: dict[str, TokenUsage] = field(default_factory=dict[str, TokenUsage])
    """What the run used for its newest messages, by their ids."""
    replies: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])


@dataclass(frozen=True, slots=True)
class ConversationRuns:
    """The runs of the conversations of one identity with one team."""

    access: RunAccess
    identity: Identity
    team: str
    person: str = ""
    """As the client names its user: conversations of different ones are apart."""

    async def named(self, session: str) -> RunPlace:
        """Return the run of a session that a client names: its own, else one that has this id.

        Raises:
            CommandError: The server does not answer.
        """
        run = self._id(digest_of("session", *self.scope, session), "")
        exists = await self.is_ours(run)
        if not exists and id_problem(session) is None and await self.is_ours(session):
            return RunPlace(session, exists=True)
        return RunPlace(run, exists=exists)

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
        if asked.answered is None and not asked.collects:
            return await self._new(ids[0], asked)
        async for run in self._latest_runs(asked.opening):
            if run not in seen and (place := await self._place_if_fits(run, asked)) is not None:
                return place
        if asked.collects:
            raise Rejection(
                404,
                "unknown_run",
                "the session whose answer waited for a decision is not there any more",
                "Begin another conversation.",
            )
        return await self.branch_for(asked)

    async def branch_for(self, asked: SentConversation) -> RunPlace:
        """Return a session of its own, for a conversation that was changed or began elsewhere."""
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

    async def log(self, run: str, count: int = 1) -> SessionLog:
        """Read the newest messages of a session; raises CommandError."""
        try:
            history = await read_session(self.access.pages, run, None, count)
        except RPCError as error:
            raise call_error(run, error) from None
        return await asyncio.to_thread(_log_of, history)  # of thousands of events

    async def sent_message(self, run: str, message: str) -> JsonValue:
        """Return what a recent message of a session says; None if it has none of this id."""
        return (await self.log(run, _COLLECTED)).messages.get(message)

    @property
    def scope(self) -> tuple[str, ...]:
        """What separates equal conversations of different clients."""
        return (self.identity.method, self.identity.subject, self.team, self.person)

    @property
    def owner(self) -> str:
        """Whose the runs are that this door starts, as their memo says."""
        return digest_of("owner", *self.scope)

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
        found = await self._ours(run)
        if found is None:
            return None
        last = (await self.log(run)).last
        fits = asked.follows(last) and (found.is_open or last == asked.turn.id)
        return RunPlace(run, last, exists=True) if fits else None

    async def is_ours(self, run: str) -> bool:
        """Return whether there is such a run of the team, and it belongs to who asks."""
        return await self._ours(run) is not None

    async def _ours(self, run: str) -> FoundRun | None:
        found = await run_of_team(self.access, self.team, run)
        if found is None or not is_callable(self.identity, self.team):
            return None
        memo = found.description.raw_description.workflow_execution_info.memo.fields
        if OWNER in memo:
            return found if text_of(memo[OWNER]) == self.owner else None
        return found if not self.person and await self._has_started(run) else None

    async def _has_started(self, run: str) -> bool:
        """Return whether the identity itself has started a run; through which door does not matter.

        False if the server has deleted how it began.
        """
        pages = self.access.pages
        try:
            first = (await pages.latest(run)).first
            events = (await pages.page(PageRequest(run, first, size=1))).events
        except RPCError as error:
            if error.status == RPCStatusCode.NOT_FOUND:
                return False
            raise call_error(run, error) from None
        starts = [event.sender for event in events if isinstance(event, RunStarted)]
        who = (self.identity.method, self.identity.subject)
        return any(one is not None and (one.method, one.subject) == who for one in starts)

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
    messages: dict[str, JsonValue] = {}
    usage: dict[str, TokenUsage] = {}
    replies: dict[str, JsonValue] = {}
    for part in history.parts:
        calls = calls_by_event(part.events)
        waiting: list[str] = []
        for event in part.events:
            if isinstance(event, UpdateAccepted) and is_message(event):
                last = event.update
                sent = event.value.read_if(SessionInput)
                messages[last] = None if sent is None else sent.message
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
    return SessionLog(last, messages, usage, replies)
