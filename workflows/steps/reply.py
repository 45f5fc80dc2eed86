"""Reply: answers the message that the session works on."""

from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.steps import ReplyStep
from coterie.dsl.sizes import too_large
from coterie.dsl.templates.template_filling import fill
from coterie.workflows.core.location import Location
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.state_parts import SessionReply
from coterie.workflows.sessions.message_queue import MAX_REPLY_SIZE, answer


async def execute(step: ReplyStep, location: Location, scope: Scope) -> Outcome:
    """Answer the open message; the step fails when there is none, or the value is too large."""
    session = scope.state.session
    if session.open is None:
        return Outcome.failed("NoMessage", "no message is open: it has its reply, or none came")
    value = fill(step.value, location.facts(scope).names())
    large = too_large(value, "the reply", MAX_REPLY_SIZE)
    if large is not None:
        return Outcome.failed("ReplyTooLarge", large)
    answer(session, session.open.id, SessionReply(value))
    return Outcome.succeeded(value)
