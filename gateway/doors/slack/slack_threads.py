"""A thread in Slack as a session: each message of a person is one of the session."""

import asyncio
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Final

from starlette.requests import Request

from coterie.dsl.model.sections.access_document import AccessSection
from coterie.gateway.doors.slack.background_work import BackgroundWork
from coterie.gateway.doors.slack.slack_decisions import unknown_person
from coterie.gateway.doors.slack.slack_payloads import EventDelivery, SlackMessage, message_in
from coterie.gateway.doors.slack.slack_people import slack_identity
from coterie.gateway.doors.slack.thread_posts import ThreadPosts
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.operations.expected_errors import EXPECTED_ERRORS, failed_work
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.operations.run_starts import StartAsked
from coterie.gateway.request_gate import sender_of
from coterie.gateway.sessions.answer_text import text_of
from coterie.gateway.sessions.message_inputs import message_schemas, session_message
from coterie.gateway.sessions.session_runs import (
    MessageToSession,
    ReplyOfSession,
    plan_for,
    run_of_team,
    start_once,
)
from coterie.server.message_senders import sent_by
from coterie.workflows.core.memo_keys import SLACK_THREAD

_TAKING_SECONDS: Final = 2.4
"""How long Slack waits, of its three seconds, until the session has the message. If it has not,
Slack sends the message again."""
_MAX_WAITS: Final = 20
_MAX_DELIVERIES: Final = 5_000


@dataclass(frozen=True, slots=True)
class ThreadMessage:
    """A message of a person, and the session that it belongs to."""

    identity: Identity
    team: str
    run: str
    id: str
    """The same for each delivery."""
    text: str
    channel: str
    thread: str
    key: str
    """Of the thread."""
    is_again: bool
    """Whether Slack has sent it before."""


@dataclass(frozen=True, slots=True)
class SlackThreads:
    """Talks with sessions for people in Slack."""

    access: RunAccess
    section: AccessSection
    posts: ThreadPosts
    work: BackgroundWork
    deliveries: "dict[str, asyncio.Future[bool]]" = field(
        default_factory=dict[str, "asyncio.Future[bool]"]
    )
    """`{id of a message: whether the session has it}` of the latest ones."""

    async def receive(self, request: Request, delivery: EventDelivery) -> bool:
        """Send a message to its session; return False if Slack shall send it again."""
        slack, message = self.section.slack, message_in(delivery.event)
        if slack is None or slack.team is None or message is None:
            return True
        workspace = message.user_team or delivery.team_id
        identity = slack_identity(self.section, workspace, message.user or "")
        run = run_of_thread(slack.team, delivery.team_id, message)
        if not await self._is_for_us(message, run):
            return True
        if identity is None:
            text = unknown_person(workspace, message.user or "")
            self.work.start(self.posts.say(message.channel, message.thread, text))
            return True
        sent = ThreadMessage(
            identity,
            slack.team,
            run,
            sha256(f"{delivery.team_id} {message.channel} {message.ts}".encode()).hexdigest()[:32],
            without_mention(message.text),
            message.channel,
            message.thread,
            thread_key(delivery.team_id, message),
            is_again="x-slack-retry-num" in request.headers,
        )
        taken = self.deliveries.get(sent.id)
        if taken is None:
            taken = self._new_delivery(sent.id)
            try:
                with sent_by(sender_of(identity, request.scope)):
                    self.work.start(self._talk(sent, taken))
            except Rejection:
                self._settle(sent, taken, is_taken=False)
                raise
        await asyncio.wait({taken}, timeout=_TAKING_SECONDS)
        return taken.done() and taken.result()

    def _new_delivery(self, id: str) -> "asyncio.Future[bool]":
        """Note a message, so that its next delivery waits for the same reply.

        It only saves a second post: another gateway sends the message again, with its id.
        """
        taken: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.deliveries[id] = taken
        if len(self.deliveries) > _MAX_DELIVERIES:
            del self.deliveries[next(iter(self.deliveries))]
        return taken

    def _settle(
        self, sent: ThreadMessage, taken: "asyncio.Future[bool]", *, is_taken: bool
    ) -> None:
        """Say whether the session has a message; if not, its next delivery sends it anew."""
        if taken.done():
            return
        taken.set_result(is_taken)
        if not is_taken and self.deliveries.get(sent.id) is taken:
            del self.deliveries[sent.id]

    async def _is_for_us(self, message: SlackMessage, run: str) -> bool:
        """Return whether a message is to the app, or in a thread where the app takes part."""
        if message.type == "app_mention" or message.channel_type == "im":
            return True
        if message.thread_ts is None:
            return False
        return await self._has_session(run)

    async def _talk(self, sent: ThreadMessage, taken: "asyncio.Future[bool]") -> None:
        """Send a message, and post the reply into its thread, or why there is none."""
        try:
            reply = await self._reply(sent, taken)
        except EXPECTED_ERRORS as error:
            failed = failed_work(error)
            if failed.status >= 500 and not taken.done():
                return  # Slack sends it again
            text = f"{failed.report.message}. {failed.report.fix}".strip()
            self._settle(sent, taken, is_taken=True)
            await self.posts.say(sent.channel, sent.thread, text)
            return
        finally:
            self._settle(sent, taken, is_taken=False)
        if reply is None:
            await self.posts.say(sent.channel, sent.thread, _STILL)
        elif sent.is_again:
            await self.posts.say_if_missing(
                sent.channel, sent.thread, text_of(reply.value), sent.id
            )
        else:
            await self.posts.say(sent.channel, sent.thread, text_of(reply.value), sent.id)

    async def _reply(
        self, sent: ThreadMessage, taken: "asyncio.Future[bool]"
    ) -> ReplyOfSession | None:
        """Return the reply to a message; None if there is none yet."""
        found = await run_of_team(self.access, sent.team, sent.run)
        plan = await plan_for(self.access, sent.team, sent.identity, found)
        value = session_message(message_schemas(plan), sent.text)
        if found is None:
            start = StartAsked(team=sent.team, id=sent.run)
            is_ours = partial(self._has_session, sent.run)
            await start_once(self.access, sent.identity, start, is_ours, {SLACK_THREAD: sent.key})
        message = MessageToSession(self.access, sent.identity, sent.run, sent.id, value)
        await message.take()
        self._settle(sent, taken, is_taken=True)
        return await message.reply(_MAX_WAITS)

    async def _has_session(self, run: str) -> bool:
        """Return whether the team has this run; a run of another team gets no text of a thread."""
        slack = self.section.slack
        if slack is None or slack.team is None:
            return False
        return await run_of_team(self.access, slack.team, run) is not None


_STILL = "The team still works on it. The console shows what it does."


def run_of_thread(team: str, workspace: str, message: SlackMessage) -> str:
    """Return the id of the session of a thread."""
    return run_of_key(team, thread_key(workspace, message))


def thread_key(workspace: str, message: SlackMessage) -> str:
    """Return what names a thread: workspace, channel and thread."""
    return f"{workspace} {message.channel} {message.thread}"


def run_of_key(team: str, key: str) -> str:
    """Return the id of the session of a thread, by what names it."""
    return f"{team}-slack-{sha256(key.encode()).hexdigest()[:32]}"


def without_mention(text: str) -> str:
    """Return what a person wrote, without the name of the app before it."""
    head, found, rest = text.strip().partition(">")
    return rest.strip() if found and head.startswith("<@") else text.strip()
