"""The wait for the next message of a session."""

from coterie.dsl.errors import RunRefused
from coterie.dsl.model.outcomes import Failure, Outcome
from coterie.dsl.model.step_kinds.wait_step import MessageWait
from coterie.dsl.model.template_bound import optional_seconds
from coterie.workflows.control.refusal_texts import refusal_text
from coterie.workflows.core.causes.message_causes import MessageTaken
from coterie.workflows.core.location import Location, Skipped
from coterie.workflows.core.memory import SessionReply
from coterie.workflows.core.scope import Interrupted, Scope
from coterie.workflows.core.trail import note_control
from coterie.workflows.sessions.message_queue import answer, pass_over, take, unfit_message


async def wait_for_message(step: MessageWait, location: Location, scope: Scope) -> Outcome:
    """Take the next message that matches the schema; its value is the step's data.

    Raises:
        RunRefused: the run was started with a message that it refused.
    """
    session = scope.state.session
    pass_over(session, scope.state.tracks[location.track].routed)
    if not session.queue and session.received >= scope.plan.limits.max_messages:
        return Outcome.failed("SessionFull", "the session has had all its messages")
    left = scope.state.progress.relative_waits.get(location.key, optional_seconds(step.deadline))
    until = None if left is None else scope.time() + left
    while await _came(until, location, scope):
        message = session.queue.pop(0)
        unfit = unfit_message(message.value, step.schema_)
        if unfit is None:
            take(scope.state, message)
            number = session.received - len(session.queue)
            note_control(
                scope.state, scope.now(), MessageTaken("message_taken", number, message.by)
            )
            return Outcome.succeeded(message.value)
        failure = Failure(unfit.code, refusal_text(unfit))
        answer(session, message.id, SessionReply(error=failure))
    return Outcome.failed("NoMessageCame", "no message came in time")


async def _came(until: float | None, location: Location, scope: Scope) -> bool:
    """Wait until a message is in the queue; False when the time is up.

    A message that does not fit takes from the time for the others.
    """
    session, skips, own = scope.state.session, scope.state.skips, location.step
    waits, key = scope.state.progress.relative_waits, location.key
    scope.state.await_message(f"{location.team}#{location.visit}/{location.path}")
    try:
        await scope.wait_until(
            lambda: bool(session.queue or session.refused) or own in skips,
            None if until is None else max(until - scope.time(), 0.0),
            f"message for {location.path}",
        )
    except Interrupted as interrupted:
        if interrupted.left is not None:
            waits[key] = interrupted.left
        raise
    waits.pop(key, None)
    if own in skips:
        raise Skipped(skips.pop(own).value)
    if session.refused:
        raise RunRefused(f"its first message was refused: {session.refused}")
    if not session.queue:
        await scope.messages_delivered()
    return bool(session.queue)
