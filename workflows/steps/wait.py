"""Wait: for a while, for a time, or for a named signal with its payload."""

from datetime import UTC, datetime

from dsl.model.outcomes import Outcome
from dsl.model.steps import WaitStep
from dsl.templates.template_filling import fill
from dsl.values import MAX_DURATION, seconds
from workflows.core.location import Location, Skipped
from workflows.core.scope import Interrupted, Scope


async def execute(step: WaitStep, place: Location, scope: Scope) -> Outcome:
    """Wait; on resume, the wait goes on and does not start over."""
    if step.signal is not None:
        return await _signal(step, step.signal, place, scope)
    waits, key = scope.state.progress.waits, place.key
    until = waits.get(key)
    if until is None:
        found = _until(step, place, scope)
        if isinstance(found, Outcome):
            return found
        until = waits[key] = found
    left = until - scope.time()
    if left > 0:
        skips = scope.state.skips
        await scope.wait_until(lambda: place.step in skips, left, place.step)
    waits.pop(key, None)
    return Outcome.succeeded({"until": datetime.fromtimestamp(until, UTC).isoformat()})


def _until(step: WaitStep, place: Location, scope: Scope) -> float | Outcome:
    """When the wait ends, in seconds of Unix time."""
    names = place.facts(scope).names()
    if step.time is not None:
        written = fill(step.time, names)
        try:
            moment = datetime.fromisoformat(str(written))
            until = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
            datetime.fromtimestamp(until, UTC)  # it must be printable
        except (ValueError, OverflowError):
            return Outcome.failed("NotATime", f"{written!r} is no time like 2026-01-31T09:00")
        if until - scope.time() > MAX_DURATION:
            return Outcome.failed("NotATime", f"{written!r} is more than a hundred years away")
        return until
    written = fill(step.duration, names)
    try:
        length = seconds(written)
    except ValueError as error:
        return Outcome.failed("NotADuration", f"{written!r}: {error}")
    if not isinstance(length, int | float) or isinstance(length, bool):
        return Outcome.failed("NotADuration", f"{written!r} is no duration like 90 or 5m")
    if not 0 <= length <= MAX_DURATION:
        return Outcome.failed("NotADuration", f"{written!r} is not between 0 and a hundred years")
    return scope.time() + length


async def _signal(step: WaitStep, name: str, place: Location, scope: Scope) -> Outcome:
    signals, skips = scope.state.signals, scope.state.skips
    step_key, waits, key = place.step, scope.state.progress.signal_waits, place.key
    left = waits.get(key, step.deadline)
    try:
        came = await scope.wait_until(
            lambda: bool(signals.get(name)) or step_key in skips,
            left,
            f"signal {name} for {place.path}",
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
