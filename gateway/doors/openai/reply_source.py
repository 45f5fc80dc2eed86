"""Where a stream takes the text of a reply while a model writes it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

from coterie.dsl.analysis.answering_steps import answering_steps
from coterie.dsl.model.plan import Plan
from coterie.failures import CommandError
from coterie.gateway.doors.openai.exposed_teams import ReadyTeam
from coterie.gateway.doors.openai.team_answers import AskedTeam
from coterie.gateway.streams.live_replies import LiveReply, live_reply
from coterie.gateway.streams.stream_hub import StreamHub
from coterie.runs.histories.recorded_plans import plan_of_run


class ReplySource:
    """The text of the reply to one question."""

    def __init__(self, hub: StreamHub, team: ReadyTeam, question: AskedTeam) -> None:
        """Take what follows runs, the team, and the question."""
        self._hub = hub
        self._question = question
        self._may_stream = bool(answering_steps(team.compiled.plan))

    @asynccontextmanager
    async def opened(self, wake: asyncio.Event) -> AsyncGenerator[LiveReply | None]:
        """Follow it within the block; None where no step of the team writes a reply itself.

        Args:
            wake: Is set when there may be more.
        """
        question = self._question
        message = question.message if question.is_session else None
        async with AsyncExitStack() as stack:
            reply = None
            if self._may_stream:
                following = live_reply(self._hub, question.run, message, self._plan, wake)
                try:
                    reply = await stack.enter_async_context(following)
                except CommandError:  # the answer then comes whole
                    reply = None
            yield reply

    async def _plan(self) -> Plan | None:
        """Return the plan of the run: the file of the team may have changed since."""
        return await plan_of_run(self._question.runs.access.client, self._question.run)
