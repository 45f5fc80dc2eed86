"""Ask a team for a client, and wait for its answer, or until the run waits for a person."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from pydantic import JsonValue

from coterie.activities.contracts import TokenUsage
from coterie.dsl.sizes import json_size
from coterie.dsl.values import Json
from coterie.dsl.visible import shortened_text, visible
from coterie.failures import CommandError
from coterie.gateway.doors.openai.conversation import SentConversation, waiting_mark
from coterie.gateway.doors.openai.conversation_runs import ConversationRuns, RunPlace
from coterie.gateway.doors.openai.exposed_teams import ReadyTeam, starting_context, takes_messages
from coterie.gateway.identity.console_address import run_url
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.operations.run_starts import StartAsked
from coterie.gateway.sessions.answer_text import text_of
from coterie.gateway.sessions.message_inputs import message_schemas, session_message
from coterie.gateway.sessions.session_runs import (
    MessageToSession,
    plan_for,
    run_of_team,
    start_once,
)
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.ends.end_words import incomplete_reason
from coterie.runs.run_client import Run
from coterie.runs.sessions import MessageRefusedError
from coterie.workflows.control.steering_refusals import SessionMovedOn
from coterie.workflows.core.memo_keys import OWNER
from coterie.workflows.core.requests import Pending
from coterie.workflows.sessions.message_queue import MAX_MESSAGE_SIZE

MAX_SECONDS: Final = 900.0
"""Of one answer; the same request then waits on."""
MOVED_ON: Final = SessionMovedOn("").code
_MAX_PROMPT: Final = 2_000
_LOOKS: Final = (0.3, 0.5, 1.0, 1.0, 2.0)
"""Seconds between looks whether the run waits for a person; then as the last one."""


@dataclass(frozen=True, slots=True)
class TeamAnswer:
    """What a team answered, or what its run waits for."""

    text: str
    usage: TokenUsage
    waits: bool = False
    """Whether a person must decide first; then the text says what and where."""


@dataclass(frozen=True, slots=True)
class AskedTeam:
    """A question that a run has, or will get."""

    runs: ConversationRuns
    origin: str
    """Where people open the console."""
    run: str
    message: str
    """The id of the message."""
    text: JsonValue
    """The message to a session; of another team, nothing."""
    is_session: bool
    after: str | None = None
    """The id of the newest message of the session, as far as the client knows; None: any."""

    async def answer(self) -> TeamAnswer:
        """Wait for the answer.

        Raises:
            CommandError: There is none: the run refused, failed, or nobody works on it.
        """
        run = self.runs.access.run(self.run)
        answering = asyncio.create_task(self._reply() if self.is_session else self._result(run))
        looking = asyncio.create_task(_request_of(run))
        try:
            await asyncio.wait(
                {answering, looking}, timeout=MAX_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            if answering.done():
                return await answering
            if looking.done():
                return TeamAnswer(self._waiting_text(await looking), TokenUsage(), waits=True)
        finally:
            for task in (answering, looking):
                task.cancel()
            await asyncio.gather(answering, looking, return_exceptions=True)
        raise Rejection(
            504,
            "too_slow",
            f"run {self.run!r} has worked for more than {MAX_SECONDS:g} seconds",
            "Send the same request again: it is not worked on twice, and waits on.",
        )

    async def take(self) -> bool:
        """Have the session take the message; return whether no newer one came before it.

        Raises:
            CommandError: The session refuses it for another reason, or nobody answers.
        """
        try:
            await self._message().sent(0)
        except MessageRefusedError as error:
            if error.code == MOVED_ON:
                return False
            raise
        return True

    async def _reply(self) -> TeamAnswer:
        try:
            return await self._reply_of_open_run()
        except CommandError:
            log = await self.runs.log(self.run)
            if (
                self.message not in log.replies
                or (await self.runs.access.existing(self.run)).is_open
            ):
                raise
            usage = log.usage.get(self.message, TokenUsage())
            return TeamAnswer(text_of(log.replies[self.message]), usage)  # it has ended since

    async def _reply_of_open_run(self) -> TeamAnswer:
        reply = await self._message().reply()
        assert reply is not None
        usage = (await self.runs.log(self.run)).usage.get(self.message, TokenUsage())
        return TeamAnswer(text_of(reply.value), usage)

    def _message(self) -> MessageToSession:
        runs = self.runs
        return MessageToSession(
            runs.access, runs.identity, self.run, self.message, self.text, self.after
        )

    async def _result(self, run: Run) -> TeamAnswer:
        return _ended_answer(self.run, await run.end())

    def _waiting_text(self, request: Pending) -> str:
        """Say what the run waits for, and where it is decided; the link tells the next request."""
        link = f"{self.origin}{run_url(self.run)}{waiting_mark(self.message)}"
        prompt = shortened_text(visible(request.prompt), _MAX_PROMPT)
        return (
            f"A person has to decide first: {prompt}\n\n{link}\n\n"
            'Once it is decided, write anything here, such as "go on", to get the answer.'
        )


async def asked_team(
    runs: ConversationRuns,
    team: ReadyTeam,
    asked: SentConversation,
    session: str,
    metadata: Json,
    origin: str,
) -> AskedTeam:
    """Return the question to the run that answers; start one where none exists.

    Args:
        runs: Of the identity.
        team: Which is asked.
        asked: The conversation.
        session: As the client names it; empty: the conversation tells.
        metadata: Of the request.
        origin: Where people open the console.

    Raises:
        CommandError: The context does not fit, or the run cannot start.
    """

    async def question(place: RunPlace, text: str) -> AskedTeam:
        value: JsonValue = ""  # a run that is not a session takes the text at its start
        if team.is_session:
            value = await value_to(runs, place.run if place.exists else None, text)
        if not place.exists:
            context = await asyncio.to_thread(starting_context, team, asked, metadata)
            start = StartAsked(team=team.name, context=context, id=place.run)
            is_ours = partial(runs.is_ours, place.run)
            await start_once(runs.access, runs.identity, start, is_ours, {OWNER: runs.owner})
        after = place.last if place.last != asked.turn.id else None
        return AskedTeam(runs, origin, place.run, asked.turn.id, value, team.is_session, after)

    if not team.is_session:
        return await question(await runs.run_for(asked), "")
    if session:
        return await question(await runs.named(session), asked.turn.text)
    place = await runs.session_for(asked)
    found = await question(place, await asyncio.to_thread(_text_to, team, place, asked))
    if found.after is None or await found.take():
        return found
    place = await runs.branch_for(asked)  # another message came first: this one is a branch
    return await question(place, await asyncio.to_thread(_text_to, team, place, asked))


async def value_to(runs: ConversationRuns, run: str | None, text: str) -> JsonValue:
    """Return what a session gets for a text; None: a new session of the team.

    Raises:
        CommandError: It takes no text, and there is no JSON in it.
    """
    found = None if run is None else await run_of_team(runs.access, runs.team, run)
    plan = await plan_for(runs.access, runs.team, runs.identity, found)
    return session_message(message_schemas(plan), text)


def _text_to(team: ReadyTeam, place: RunPlace, asked: SentConversation) -> str:
    """Return what to send to a session: all that it lacks.

    Raises:
        Rejection: It lacks more than a message may hold.
    """
    if place.last is not None or asked.answered is None or takes_messages(team):
        return asked.text_after(place.last)
    text = asked.whole_text()
    if json_size(text) > MAX_MESSAGE_SIZE:
        raise Rejection(
            422,
            "invalid",
            "no session has taken these messages, and together they are too large for a new one: "
            f"{json_size(text):,} of {MAX_MESSAGE_SIZE:,} bytes",
            "Begin another conversation, or declare `messages` in the `context` of the team.",
        )
    return text


def _ended_answer(run: str, end: RunEnd) -> TeamAnswer:
    if end.completed and end.result is not None:
        return TeamAnswer(text_of(end.result.output), end.result.usage)
    why = shortened_text(visible(incomplete_reason(end)), _MAX_PROMPT)
    raise Rejection(
        500,
        "run_failed",
        f"run {run!r} has no answer: {why}",
        "Retry the run in the console, or change the message: the same one is not worked on again.",
    )


async def _request_of(run: Run) -> Pending:
    """Wait until a run waits for a person, and return the first request."""
    for place in range(10**9):
        await asyncio.sleep(_LOOKS[min(place, len(_LOOKS) - 1)])
        with suppress(CommandError):  # nobody answers just now, or the run has ended
            if (await run.status()).waiting_for and (pending := await run.pending()):
                return pending[0]
    raise AssertionError
