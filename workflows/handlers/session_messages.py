"""The update `send_message`: a message of a session, answered by its reply.

Part of TeamWorkflow.

The handler waits for the reply. The run ends, or continues as new, only after all handlers have
answered: so a run that has to continue as new answers its open messages first, and takes no new
one meanwhile. An idle run takes one more: a workflow task that only a refused update has caused
cannot continue the run as new.
"""

from collections.abc import Sequence

from pydantic import JsonValue
from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

from coterie.dsl.errors import RunRefused
from coterie.dsl.visible import shortened_text
from coterie.workflows.control.steering_refusals import (
    MessageUnusable,
    RunUnable,
    TooManyMessages,
    refusal_text,
)
from coterie.workflows.core.decoding import message, takes_any_arguments
from coterie.workflows.core.messages import SEND_MESSAGE, SessionInput, TeamInput
from coterie.workflows.core.requests import MALFORMED, RunNotReady
from coterie.workflows.core.state_parts import SessionReply
from coterie.workflows.core.views import TeamResult
from coterie.workflows.handlers.message_handlers import MessageJudge, refusal_error
from coterie.workflows.sessions.message_queue import (
    MAX_OPEN_MESSAGES,
    is_busy,
    message_refusal,
    receive,
    stage_of,
)
from coterie.workflows.sessions.said_messages import join, joined_agent

_CONTINUES = "the run continues with a new history; send the message again with the same id"


class SessionMessages(MessageJudge):
    """The messages of a session."""

    input: TeamInput
    came_to: TeamResult | None
    early_messages: int
    """Messages that came before the run could judge them."""
    moving: bool
    """The run leaves this history although messages are open: they follow in the next one."""

    def admission_closed(self) -> bool:
        """Whether the run has to continue as new, and takes no new message before."""
        raise NotImplementedError

    @workflow.update(
        name=SEND_MESSAGE, description="The next message of a session: {message, by}; its reply"
    )
    @takes_any_arguments
    async def send_message(self, *payloads: RawValue) -> JsonValue:
        """Put the message into the queue, and wait for its reply."""
        info = workflow.current_update_info()
        id = "" if info is None else info.id
        if not self.listens:
            self.early_messages += 1
            await self.listening()
        if stage_of(self.state.session, id) == "new":
            self._take(id, payloads)
        await self.until(
            lambda: self.done or self.moving or stage_of(self.state.session, id) == "answered"
        )
        return self._reply(self.state.session.replies.get(id))

    @send_message.validator
    @takes_any_arguments
    def _send_message_validator(self, *payloads: RawValue) -> None:
        """Refuse what the run cannot take.

        Only a run that starts with its plan and its first message accepts an early one. In all
        other runs a replay would deliver it before the activity that gave the run its plan.
        """
        if not self.listens:
            if not self.input.first_message or self.input.plan is None:
                _decode_message(payloads)
                self.refuse_too_early()
            if self.early_messages >= MAX_OPEN_MESSAGES:
                raise refusal_error(TooManyMessages("QueueFull", MAX_OPEN_MESSAGES))
            return
        if self._starts_with_message:
            return
        info = workflow.current_update_info()
        if info is not None and stage_of(self.state.session, info.id) != "new":
            return
        self._checked_message(payloads)
        if self.admission_closed() and is_busy(self.state.session):
            raise refusal_error(RunNotReady())

    @property
    def _starts_with_message(self) -> bool:
        """Whether the run still waits for the message that came with its start."""
        return self.input.first_message and self.state.session.received == 0 and not self.done

    def _take(self, id: str, payloads: Sequence[RawValue]) -> None:
        """Put a message into the queue; a refused first message ends the run."""
        try:
            session_input = self._checked_message(payloads)
        except ApplicationError as error:
            if self._starts_with_message:
                self.state.session.refused = error.message
            raise
        plan = self.plan
        agent = None if plan is None else joined_agent(self.state, session_input, plan)
        if agent is None:
            receive(self.state.session, id, session_input)
        else:
            join(self.state, agent, id, session_input, workflow.now())

    def _checked_message(self, payloads: Sequence[RawValue]) -> SessionInput:
        """Return the message, where the run takes it."""
        session_input = _decode_message(payloads)
        if self.plan is None:
            raise refusal_error(RunUnable("RunHasEnded"))
        refusal = message_refusal(self.plan, self.state, session_input, done=self.done)
        if refusal is not None:
            raise refusal_error(refusal)
        return session_input

    def _reply(self, reply: SessionReply | None) -> JsonValue:
        """Return the reply, or raise the reason why there is none."""
        if reply is not None and reply.error is None:
            return reply.value
        if reply is not None and reply.error is not None:
            error = ApplicationError(reply.error.message, type=reply.error.type, non_retryable=True)
        elif self.done:
            ended = RunUnable("RunHasEnded")
            why = "" if self.came_to is None else f": {self.came_to.because}"
            error = ApplicationError(
                shortened_text(f"{refusal_text(ended)} without a reply{why}", 1_000),
                type=ended.code,
                non_retryable=True,
            )
        else:
            error = refusal_error(RunNotReady(_CONTINUES))
        raise error


def _decode_message(payloads: Sequence[RawValue]) -> SessionInput:
    """Decode a message; refuse any other shape."""
    try:
        return message(payloads, SessionInput)
    except RunRefused as error:
        raise refusal_error(MessageUnusable(MALFORMED, str(error))) from None
