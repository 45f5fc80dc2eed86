"""Wait: for a duration, a time, a named signal, or the next message of a session."""

from datetime import UTC, datetime
from typing import assert_never

from pydantic import JsonValue

from coterie.dsl.errors import RunRefused
from coterie.dsl.evaluate.waits import RefusedWait, length_of_wait, moment_of_wait
from coterie.dsl.model.outcomes import Failure, Outcome
from coterie.dsl.model.step_kinds.wait_step import (
    AnyWait,
    DurationWait,
    MessageWait,
    SignalWait,
    TimeWait,
)
from coterie.dsl.model.template_bound import optional_seconds
from coterie.dsl.templates.template_filling import fill
from coterie.workflows.control.push_states import push_state
from coterie.workflows.control.steering_refusals import refusal_text
from coterie.workflows.core.causes.message_causes import MessageTaken
from coterie.workflows.core.location import Location, Skipped
from coterie.workflows.core.scope import Interrupted, Scope
from coterie.workflows.core.state_parts import SessionReply
from coterie.workflows.core.trail import note_control
from coterie.workflows.sessions.message_queue import answer, pass_over, take, unfit_message


async def wait_for_message(step: MessageWait, location: Location, scope: Scope) -> Outcome:
    """Take the next message that matches the schema; its value is the step's data.

    Raises:
        RunRefused: the run was started with a message that it refused.
    """
    session = scope.state.session
    pass_over(session, scope.state.tracks[location.track].routed)
    if not session.queue and session.total >= scope.plan.limits.max_messages:
        return Outcome.failed("SessionFull", "the session has had all its messages")
    remaining = scope.state.progress.relative_waits.get(
        location.key, optional_seconds(step.deadline)
    )
    until = None if remaining is None else scope.time() + remaining
    while await _came(until, location, scope):
        message = session.queue.pop(0)
        unfit = unfit_message(message.value, step.schema_)
        if unfit is None:
            take(scope.state, message, steers=step.while_busy == "steer")
            push_state(scope)
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
    if not session.queue:
        push_state(scope, awaited=location.step)
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


async def execute(step: AnyWait, location: Location, scope: Scope) -> Outcome:
    """Wait; on resume, the wait continues and does not start over."""
    match step:
        case DurationWait(duration=duration):
            return await _duration(duration, location, scope)
        case TimeWait(time=time):
            return await _time(time, location, scope)
        case SignalWait():
            return await _signal(step, location, scope)
        case MessageWait():
            return await wait_for_message(step, location, scope)
        case _:
            assert_never(step)


async def _time(template: str, location: Location, scope: Scope) -> Outcome:
    """Wait for a fixed time: a pause does not move it."""
    waits, key = scope.state.progress.waits, location.key
    until = waits.get(key)
    if until is None:
        filled = fill(template, location.facts(scope).names())
        moment = moment_of_wait(filled, scope.time())
        if isinstance(moment, RefusedWait):
            return _refusal(filled, moment)
        until = waits[key] = moment
    remaining = until - scope.time()
    if remaining > 0:
        skips, step = scope.state.skips, location.step
        await scope.wait_until(lambda: step in skips, remaining, step, stands_still=False)
    waits.pop(key, None)
    return _end_wait(until)


async def _duration(template: float | str, location: Location, scope: Scope) -> Outcome:
    """Wait for a duration; the time of a pause does not count."""
    waits, key = scope.state.progress.relative_waits, location.key
    remaining = waits.get(key)
    if remaining is None:
        filled = fill(template, location.facts(scope).names())
        duration = length_of_wait(filled)
        if isinstance(duration, RefusedWait):
            return _refusal(filled, duration)
        remaining = duration
    if remaining > 0:
        skips, own = scope.state.skips, location.step
        try:
            await scope.wait_until(lambda: own in skips, remaining, own)
        except Interrupted as interrupted:
            waits[key] = remaining if interrupted.left is None else interrupted.left
            raise
    waits.pop(key, None)
    return _end_wait(scope.time())


def _end_wait(at: float) -> Outcome:
    return Outcome.succeeded({"until": datetime.fromtimestamp(at, UTC).isoformat()})


def _refusal(value: JsonValue, refused: RefusedWait) -> Outcome:
    return Outcome.failed(refused.type, f"{value!r} is not {refused.wanted}")


async def _signal(step: SignalWait, location: Location, scope: Scope) -> Outcome:
    name, signals, skips = step.signal, scope.state.signals, scope.state.skips
    step_key, waits, key = location.step, scope.state.progress.signal_waits, location.key
    remaining = waits.get(key, optional_seconds(step.deadline))
    try:
        came = await scope.wait_until(
            lambda: bool(signals.get(name)) or step_key in skips,
            remaining,
            f"signal {name} for {location.path}",
        )
    except Interrupted as interrupted:
        if interrupted.left is not None:
            waits[key] = interrupted.left
        raise
    waits.pop(key, None)
    if step_key in skips:
        raise Skipped(skips.pop(step_key).value)
    if not came:
        return Outcome.failed("NotSignalled", f"the signal {name!r} did not come in time")
    payload = signals[name].pop(0)
    return Outcome.succeeded(payload)
