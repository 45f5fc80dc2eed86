"""Calls that repeat: the same arguments, the same result, again and again in one loop.

At the third time the agents of the loop are told; the fifth is not made. Another result is
progress, and the count begins anew.
"""

import json
from hashlib import sha256
from typing import NamedTuple

from pydantic import JsonValue

from dsl.model.outcomes import Outcome
from workflows.core.location import Location
from workflows.core.memory import StepProgress
from workflows.core.scope import Scope
from workflows.core.trail_because import trail_because
from workflows.core.trail_causes import CallRepeated

NUDGED_AT = 3
STOPPED_AT = 5
_MAX_KEPT = 200
"""Different calls that a loop remembers; of the oldest it forgets."""


class _Seen(NamedTuple):
    """A call that was made before."""

    result: str
    times: int
    """So often in a row with this result."""
    what: str


def refused(skill: str, given: JsonValue, place: Location, scope: Scope) -> Outcome | None:
    """The failure of a call that has brought nothing new for too long; None when it may be made."""
    seen = _seen(_loop(place, scope), _digest([skill, given]))
    if seen is None or seen.times < STOPPED_AT - 1:
        return None
    because = (
        f"{skill} was called {seen.times} times in this loop with the same arguments and gave the "
        "same each time, so it is not called again; a loop that looks whether something has "
        "changed says `repeated_calls: allow`"
    )
    return Outcome.failed("RepeatedCall", because)


def noted(skill: str, given: JsonValue, outcome: Outcome, place: Location, scope: Scope) -> None:
    """Remember a call and what came of it; the third time is told in the trail."""
    block = _loop(place, scope)
    digest = _digest([skill, given])
    error = outcome.error
    result = _digest(outcome.data if error is None else [error.type, error.message])
    before = _seen(block, digest)
    times = before.times + 1 if before is not None and before.result == result else 1
    repeats = block.repeats if block.repeats is not None else {}
    repeats.pop(digest, None)  # the latest last
    repeats[digest] = [result, times, skill]
    while len(repeats) > _MAX_KEPT:
        del repeats[next(iter(repeats))]
    block.repeats = repeats
    if times == NUDGED_AT:
        place.note(scope, "step", CallRepeated("call_repeated", skill, times), status="repeated")


def told(place: Location, scope: Scope) -> tuple[str, ...]:
    """What an agent of the loop should know of the calls that repeat."""
    block = _loop(place, scope)
    found = (_seen(block, digest) for digest in block.repeats or ())
    return tuple(
        f"[Note: {trail_because(_repeated(seen))}. Do something else.]"
        for seen in found
        if seen is not None and seen.times >= NUDGED_AT
    )


def _repeated(seen: _Seen) -> CallRepeated:
    return CallRepeated("call_repeated", seen.what, seen.times)


def _loop(place: Location, scope: Scope) -> StepProgress:
    return scope.state.blocks.setdefault(place.loop or "", StepProgress())


def _seen(block: StepProgress, digest: str) -> _Seen | None:
    match (block.repeats or {}).get(digest):
        case [str() as result, int() as times, str() as what]:
            return _Seen(result, times, what)
        case _:
            return None


def _digest(value: JsonValue) -> str:
    text = json.dumps(value, sort_keys=True)
    return sha256(text.encode(), usedforsecurity=False).hexdigest()[:16]
