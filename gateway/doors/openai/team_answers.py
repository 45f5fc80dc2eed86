"""Ask a team for a client, and wait for its answer, or until the run waits for a person."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from pydantic import JsonValue

from coterie.activities.contracts import TokenUsage
from coterie.dsl.sizes import json_size
from coterie.dsl.values import Frozen, Json
from coterie.dsl.visible import shortened_text, visible
from coterie.failures import CommandError
from coterie.gateway.console.inbox_page import run_url
from coterie.gateway.doors.answer_text import text_of
from coterie.gateway.doors.openai.conversation import SentConversation, waiting_mark
from coterie.gateway.doors.openai.conversation_runs import ConversationRuns, RunPlace
from coterie.gateway.doors.openai.exposed_teams import ReadyTeam, starting_context, takes_messages
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.operations.operations_table import operation_named
from coterie.gateway.operations.performance import perform
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.operations.run_starts import StartAsked, StartedRun, start_team
from coterie.gateway.operations.run_steering import MessageOutcome
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.ends.end_words import incomplete_reason
from coterie.runs.new_runs import IdTaken
from coterie.runs.run_client import Run
from coterie.runs.sessions import MessageRefusedError
from coterie.workflows.control.steering_refusals import SessionMovedOn
from coterie.workflows.core.memo_keys import OWNER
from coterie.workflows.core.requests import Pending
from coterie.workflows.sessions.message_queue import MAX_MESSAGE_SIZE

MAX_SECONDS: Final = 900.0
"""Of one answer; the same request then waits on."""
MOVED_ON: Final = SessionMovedOn("").code
_WAIT: Final = 40.0
_MAX_PROMPT: Final = 2_000
_LOOKS: Final = (0.3, 0.5, 1.0, 1.0, 2.0)
"""Seconds between looks whether the run waits for a person; then as the last one."""

Output = TypeVar("Output", bound=Frozen)


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
        asked: Json = {
            "run": self.run, "message": self.text, "message_id": self.message,
            "after": self.after, "wait": 0,
        }  # fmt: skip
        try:
            await self._perform("message", asked, MessageOutcome)
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
        asked: Json = {
            "run": self.run, "message": self.text, "message_id": self.message,
            "after": self.after, "wait": _WAIT,
        }  # fmt: skip
        while True:
            outcome = await self._perform("message", asked, MessageOutcome)
            if outcome.is_answered:
                usage = (await self.runs.log(self.run)).usage.get(self.message, TokenUsage())
                return TeamAnswer(text_of(outcome.reply), usage)
            if not outcome.is_taken:
                raise Rejection(
                    503,
                    "no_worker",
                    f"no worker has taken the message to run {self.run!r}",
                    "Start `coterie worker` in the project, then send the same request again.",
                )

    async def _result(self, run: Run) -> TeamAnswer:
        return _ended_answer(self.run, await run.end())

    async def _perform(self, name: str, asked: Json, output: type[Output]) -> Output:
        return await performed_as(self.runs.access, self.runs.identity, name, asked, output)

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
        if not place.exists:
            await start_run_of(runs, team, place.run, starting_context(team, asked, metadata))
        after = place.last if place.last != asked.turn.id else None
        return AskedTeam(runs, origin, place.run, asked.turn.id, text, team.is_session, after)

    if not team.is_session:
        return await question(await runs.run_for(asked), "")
    if session:
        return await question(await runs.named(session), asked.turn.text)
    place = await runs.session_for(asked)
    found = await question(place, _text_to(team, place, asked))
    if found.after is None or await found.take():
        return found
    place = await runs.branch_for(asked)  # another message came first: this one is a branch
    return await question(place, _text_to(team, place, asked))


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


async def start_run_of(runs: ConversationRuns, team: ReadyTeam, run: str, context: Json) -> None:
    """Start a run, unless another request has done so meanwhile; raises CommandError."""

    async def start(access: RunAccess, asked: StartAsked, identity: Identity) -> StartedRun:
        return await start_team(access, asked, identity, {OWNER: runs.owner})

    operation = replace(operation_named("start"), handler=start)
    asked = StartAsked(team=team.name, context=context, id=run)
    try:
        await perform(runs.access, operation, asked, runs.identity)
    except IdTaken:
        if not await runs.is_ours(run):
            raise


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


async def performed_as(
    access: RunAccess, identity: Identity, name: str, asked: Json, output: type[Output]
) -> Output:
    """Perform an operation; raises CommandError."""
    operation = operation_named(name)
    answer = await perform(access, operation, operation.input.model_validate(asked), identity)
    assert isinstance(answer, output)
    return answer


async def _request_of(run: Run) -> Pending:
    """Wait until a run waits for a person, and return the first request."""
    for place in range(10**9):
        await asyncio.sleep(_LOOKS[min(place, len(_LOOKS) - 1)])
        with suppress(CommandError):  # nobody answers just now, or the run has ended
            if (await run.status()).waiting_for and (pending := await run.pending()):
                return pending[0]
    raise AssertionError
