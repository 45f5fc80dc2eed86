"""Post the replies that a gateway could not post any more, since it was killed."""

import asyncio
import logging
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from pydantic import JsonValue
from temporalio.client import WorkflowExecution
from temporalio.service import RPCError

from coterie.dsl.model.sections.access_document import AccessSection
from coterie.failures import CommandError
from coterie.gateway.doors.slack.slack_people import slack_identity
from coterie.gateway.doors.slack.slack_threads import run_of_key
from coterie.gateway.doors.slack.thread_posts import ThreadPosts
from coterie.gateway.operations.permissions import Allowed, may
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.operations.run_listing import VIEWERS
from coterie.gateway.sessions.answer_text import text_of
from coterie.gateway.sessions.session_history import SessionHistory, is_message, read_session
from coterie.runs.histories.recorded_events import UpdateAccepted, UpdateCompleted
from coterie.storage.histories import WORKFLOW
from coterie.storage.wire import text_of as text_of_payload
from coterie.workflows.core.memo_keys import SLACK_THREAD

_EVERY: Final = 60.0
"""Seconds between two looks at the most."""
_MAX_FIRST: Final = 3.0
"""Seconds, by chance, before a look, so that two gateways do not look at the same moment."""
_GRACE: Final = timedelta(seconds=15)
"""So long a reply is left to the gateway that waits for it."""
_MAX_AGE: Final = timedelta(hours=1)
_MAX_SESSIONS: Final = 200
_MAX_MESSAGES: Final = 5
"""Of one session."""
_MAX_SEEN: Final = 5_000

_PASSING: Final = (RPCError, CommandError, ValueError, RuntimeError, KeyError)
"""A server that does not answer, and values that cannot be decoded; the next look tries again."""

_log = logging.getLogger("coterie")


class RecordedReply(NamedTuple):
    """A reply of a session to a message from Slack."""

    message: str
    sender: str
    """`T0123/U0456`."""
    at: datetime
    value: JsonValue


@dataclass(frozen=True, slots=True)
class LostReplies:
    """Looks at the sessions of threads, and posts what is missing there."""

    access: RunAccess
    section: AccessSection
    team: str
    posts: ThreadPosts
    seen: dict[str, None] = field(default_factory=dict[str, None])
    """The ids of messages whose replies stand in their threads. It only saves requests."""

    async def watch(self) -> None:
        """Look now and each minute; never return."""
        wait = 0.0
        while True:
            await asyncio.sleep(wait + random.uniform(0, _MAX_FIRST))
            try:
                wait = await self.post()
            except _PASSING as error:
                _log.warning("could not look for replies to Slack (%s)", type(error).__name__)
                wait = _EVERY

    async def post(self) -> float:
        """Post what is missing; return the seconds until there may be more to do."""
        wait, now = _EVERY, datetime.now(UTC)
        since = (now - _MAX_AGE).strftime("%Y-%m-%dT%H:%M:%SZ")
        query = (
            f"WorkflowType = '{WORKFLOW}' AND WorkflowId STARTS_WITH '{self.team}-slack-'"
            f" AND (ExecutionStatus = 'Running' OR CloseTime > '{since}')"
        )
        async for run in self.access.client.list_workflows(query, limit=_MAX_SESSIONS):
            thread = _thread_of(run, self.team)
            if thread is None:
                continue
            try:
                wait = min(wait, await self._post_missing(run.id, thread, now))
            except _PASSING as error:  # one session must not keep the others from their replies
                _log.warning("could not read the replies of a session (%s)", type(error).__name__)
        return wait

    async def _post_missing(self, run: str, thread: tuple[str, str], now: datetime) -> float:
        """Post what a session has replied; return the seconds until there may be more to do."""
        wait = _EVERY
        history = await read_session(self.access.pages, run, None, _MAX_MESSAGES)
        for reply in replies_in(history):
            age = now - reply.at
            if age > _MAX_AGE or reply.message in self.seen or not self._may_see(reply):
                continue
            if age < _GRACE:
                wait = min(wait, (_GRACE - age).total_seconds())
            else:
                await self._post(thread, reply)
        return wait

    async def _post(self, thread: tuple[str, str], reply: RecordedReply) -> None:
        if not await self.posts.say_if_missing(*thread, text_of(reply.value), reply.message):
            return  # the next look tries again
        self.seen[reply.message] = None
        if len(self.seen) > _MAX_SEEN:
            del self.seen[next(iter(self.seen))]

    def _may_see(self, reply: RecordedReply) -> bool:
        """Return whether the person who wrote the message still may see the run."""
        workspace, _, user = reply.sender.partition("/")
        identity = slack_identity(self.section, workspace, user)
        return identity is not None and isinstance(may(identity, VIEWERS, self.team), Allowed)


def replies_in(history: SessionHistory) -> Iterator[RecordedReply]:
    """Yield the replies to messages from Slack, oldest first."""
    for part in history.parts:
        asked: dict[str, str] = {}
        for event in part.events:
            if isinstance(event, UpdateAccepted) and is_message(event):
                if event.sender is not None and event.sender.door == "slack":
                    asked[event.update] = event.sender.subject
            elif isinstance(event, UpdateCompleted) and event.value is not None:
                sender = asked.pop(event.update, None)
                if sender is not None:
                    yield RecordedReply(event.update, sender, event.at, event.value.json)


def _thread_of(run: WorkflowExecution, team: str) -> tuple[str, str] | None:
    """Return channel and thread, as the memo has them and the id of the run proves."""
    memo = run.raw_info.memo.fields
    key = text_of_payload(memo[SLACK_THREAD]) if SLACK_THREAD in memo else ""
    parts = key.split(" ")
    if len(parts) != 3 or run_of_key(team, key) != run.id:
        return None
    return parts[1], parts[2]
