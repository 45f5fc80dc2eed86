"""Repeated calls: the same arguments, the same result, again and again in one loop.

At the third call the agents of the loop get a note; the fifth call is refused. A different result
is progress and restarts the count. Two failures are equal if type and data are, whatever the
message.
"""

import json
from hashlib import sha256

from pydantic import JsonValue

from coterie.dsl.model.outcomes import Outcome
from coterie.workflows.core.causes.agent_causes import CallRepeated
from coterie.workflows.core.causes.trail_because import trail_because
from coterie.workflows.core.location import Location
from coterie.workflows.core.progress.progress_kinds import RepeatedCall
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.trail import note_step

NUDGED_AT = 3
STOPPED_AT = 5
_MAX_KEPT = 200
"""Different calls that a loop remembers; it forgets the oldest."""


def refused(function: str, given: JsonValue, location: Location, scope: Scope) -> Outcome | None:
    """Return the failure of a call that keeps giving the same result; None if it may be made."""
    call = _calls(location, scope).get(_digest([function, given]))
    if call is None or call.times < STOPPED_AT - 1:
        return None
    because = (
        f"{function} was called {call.times} times in this loop with the same arguments and gave "
        "the same result each time, so it is not called again; set `repeated_calls: allow` on a "
        "loop that polls for a change"
    )
    return Outcome.failed("RepeatedCall", because)


def record_call(
    function: str, given: JsonValue, outcome: Outcome, location: Location, scope: Scope
) -> None:
    """Remember a call and its result; the third equal result in a row appears in the trail."""
    calls = _calls(location, scope)
    error = outcome.error
    result = _digest(outcome.data if error is None else [error.type, outcome.data])
    digest = _digest([function, given])
    before = calls.pop(digest, None)  # the latest comes last
    times = before.times + 1 if before is not None and before.result == result else 1
    calls[digest] = RepeatedCall(result, times, function)
    while len(calls) > _MAX_KEPT:
        del calls[next(iter(calls))]
    if times == NUDGED_AT:
        note_step(scope, location, "repeated", CallRepeated("call_repeated", function, times))


def notes(location: Location, scope: Scope) -> tuple[str, ...]:
    """Return what an agent of the loop should know about repeated calls."""
    return tuple(
        f"[Note: {trail_because(_cause(call))}. Do something else.]"
        for call in _calls(location, scope).values()
        if call.times >= NUDGED_AT
    )


def _cause(call: RepeatedCall) -> CallRepeated:
    return CallRepeated("call_repeated", call.skill, call.times)


def _calls(location: Location, scope: Scope) -> dict[str, RepeatedCall]:
    """Return the calls of the loop that watches this location, by digest."""
    if location.loop is None:
        return {}
    return scope.state.progress.repeated_calls.setdefault(location.loop, {})


def _digest(value: JsonValue) -> str:
    text = json.dumps(value, sort_keys=True)
    return sha256(text.encode(), usedforsecurity=False).hexdigest()[:16]
