"""How long a wait takes, and what is left of it after a pause and a new history."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from coterie.dsl.model.outcomes import Failure
from coterie.dsl.model.step_kinds.wait_step import (
    AnyWait,
    DurationWait,
    SignalWait,
    TimeWait,
)
from coterie.dsl.values import MAX_DURATION
from coterie.workflows.core.location import Location, Skipped
from coterie.workflows.core.messages import SkipInput
from coterie.workflows.core.scope import Interrupted
from coterie.workflows.core.state_keys import MAIN
from coterie.workflows.steps.wait import execute
from tests.support.one_team import work
from tests.support.simulation.stopping import BEGAN, StoppingScope, World, carried, fresh

_HOUR = 3600.0
PLACE = Location.of_visit(MAIN, "work", 1).at("nap")


class PausedScope(StoppingScope):
    """An hour of the wait, two hours of pause, then a new history."""

    async def wait_until(
        self,
        ready: Callable[[], bool],
        seconds: float | None,
        summary: str,
        *,
        boundary: bool = True,
        stands_still: bool = True,
    ) -> bool:
        assert seconds is not None
        self.world.seconds += 3 * _HOUR
        raise Interrupted(seconds - (1 if stands_still else 3) * _HOUR)


@pytest.mark.parametrize(
    ("step", "ends_after"),
    [
        (DurationWait(kind="wait", name="nap", duration="4h"), 6),
        (TimeWait(kind="wait", name="nap", time="2026-01-01T04:00"), 4),
        (TimeWait(kind="wait", name="nap", time="2026-01-01T02:00"), 3),
    ],
)
async def test_a_wait_remembers_a_pause_in_a_new_history(step: AnyWait, ends_after: float) -> None:
    plan = work("- {name: nap, type: wait, duration: 1s}\n")
    world, state = World(lambda _: {}), fresh(plan, {})
    with pytest.raises(Interrupted):
        await execute(step, PLACE, PausedScope(plan, state, world, None))
    next_state = carried(state)
    outcome = await execute(step, PLACE, StoppingScope(plan, next_state, world, None))
    assert outcome.status == "success"
    assert world.seconds == ends_after * _HOUR
    assert (next_state.progress.waits, next_state.progress.relative_waits) == ({}, {})


class StandingScope(StoppingScope):
    """Two hours of pause in the middle of a wait."""

    async def wait_until(
        self,
        ready: Callable[[], bool],
        seconds: float | None,
        summary: str,
        *,
        boundary: bool = True,
        stands_still: bool = True,
    ) -> bool:
        assert seconds is not None
        self.world.seconds += seconds + (2 * _HOUR if stands_still else 0)
        return False


@pytest.mark.parametrize(
    ("step", "ends_after"),
    [
        (DurationWait(kind="wait", name="nap", duration="4h"), 6),
        (TimeWait(kind="wait", name="nap", time="2026-01-01T04:00"), 4),
    ],
    ids=["duration", "time"],
)
async def test_a_pause_adds_to_a_duration_and_does_not_move_a_time(
    step: AnyWait, ends_after: float
) -> None:
    plan = work("- {name: nap, type: wait, duration: 1s}\n")
    world = World(lambda _: {})
    await execute(step, PLACE, StandingScope(plan, fresh(plan, {}), world, None))
    assert world.seconds == ends_after * _HOUR


def _ended(hours: float) -> dict[str, str]:
    return {"until": (BEGAN + timedelta(hours=hours)).isoformat()}


@pytest.mark.parametrize(
    ("step", "waited", "data"),
    [
        (DurationWait(kind="wait", name="nap", duration="{{ 2 }}h"), 2 * _HOUR, _ended(2)),
        (DurationWait(kind="wait", name="nap", duration="{{ 0 }}"), 0, _ended(0)),
        (DurationWait(kind="wait", name="nap", duration="{{ 0.5 }}"), 0.5, _ended(0.5 / _HOUR)),
        (
            TimeWait(kind="wait", name="nap", time="2026-01-01T00:00:00.5"),
            0.5,
            _ended(0.5 / _HOUR),
        ),
        (TimeWait(kind="wait", name="nap", time="2026-01-01T01:00"), _HOUR, _ended(1)),
        (TimeWait(kind="wait", name="nap", time="2026-01-01T01:00+01:00"), 0, _ended(0)),
        (TimeWait(kind="wait", name="nap", time="2025-12-31T23:00Z"), 0, _ended(-1)),
    ],
    ids=[
        "template",
        "nothing",
        "half a second",
        "half a second to go",
        "UTC by default",
        "another zone",
        "past",
    ],
)
async def test_a_wait_ends_after_its_duration_or_at_its_time(
    step: AnyWait, waited: float, data: dict[str, str]
) -> None:
    plan = work("- {name: nap, type: wait, duration: 1s}\n")
    world, state = World(lambda _: {}), fresh(plan, {})
    outcome = await execute(step, PLACE, StoppingScope(plan, state, world, None))
    assert (outcome.status, outcome.data) == ("success", data)
    assert world.seconds == waited
    assert (state.progress.waits, state.progress.relative_waits) == ({}, {})


_CENTURY = "a hundred years"


@pytest.mark.parametrize(
    ("step", "type", "message"),
    [
        (
            DurationWait(kind="wait", name="nap", duration="{{ 'soon' }}"),
            "NotADuration",
            "'soon'",
        ),
        (
            DurationWait(kind="wait", name="nap", duration="{{ true }}"),
            "NotADuration",
            "True is not a duration like 90",
        ),
        (
            DurationWait(kind="wait", name="nap", duration="{{ [1] }}"),
            "NotADuration",
            "[1] is not a duration like 90",
        ),
        (
            DurationWait(kind="wait", name="nap", duration="{{ 0 - 0.001 }}"),
            "NotADuration",
            f"-0.001 is not a duration between 0 and {_CENTURY}",
        ),
        (
            DurationWait(kind="wait", name="nap", duration=f"{{{{ {MAX_DURATION} + 1 }}}}"),
            "NotADuration",
            f"is not a duration between 0 and {_CENTURY}",
        ),
        (
            TimeWait(kind="wait", name="nap", time="{{ 'noon' }}"),
            "NotATime",
            "'noon' is not a time like 2026-01-31T09:00",
        ),
        (
            TimeWait(kind="wait", name="nap", time="0001-01-01T00:00+10:00"),
            "NotATime",
            "is not a time like",
        ),
        (
            TimeWait(kind="wait", name="nap", time="2200-01-01T00:00"),
            "NotATime",
            "'2200-01-01T00:00' is not a time within the next hundred years",
        ),
    ],
    ids=["word", "boolean", "list", "negative", "endless", "no time", "first year", "far away"],
)
async def test_a_wait_for_no_duration_or_time_fails_and_says_why(
    step: AnyWait, type: str, message: str
) -> None:
    plan = work("- {name: nap, type: wait, duration: 1s}\n")
    world = World(lambda _: {})
    outcome = await execute(step, PLACE, StoppingScope(plan, fresh(plan, {}), world, None))
    assert outcome.error is not None
    assert outcome.error.type == type
    assert message in outcome.error.message
    assert world.seconds == 0


_LAST = (BEGAN + timedelta(seconds=MAX_DURATION)).isoformat()


@pytest.mark.parametrize(
    "step",
    [
        DurationWait(kind="wait", name="nap", duration=f"{{{{ {MAX_DURATION} }}}}"),
        TimeWait(kind="wait", name="nap", time=_LAST),
    ],
    ids=["duration", "time"],
)
async def test_a_wait_of_a_hundred_years_is_allowed(step: AnyWait) -> None:
    plan = work("- {name: nap, type: wait, duration: 1s}\n")
    world = World(lambda _: {})
    outcome = await execute(step, PLACE, StoppingScope(plan, fresh(plan, {}), world, None))
    assert (outcome.success, world.seconds) == (True, MAX_DURATION)


@pytest.mark.parametrize(
    "step",
    [
        DurationWait(kind="wait", name="nap", duration="{{ 0 }}"),
        TimeWait(kind="wait", name="nap", time="2026-01-01T00:00"),
    ],
    ids=["duration", "time"],
)
async def test_a_wait_that_is_over_at_once_starts_no_timer(step: AnyWait) -> None:
    plan = work("- {name: nap, type: wait, duration: 1s}\n")
    world = World(lambda _: {})
    assert (await execute(step, PLACE, PausedScope(plan, fresh(plan, {}), world, None))).success


async def test_a_wait_for_a_signal_takes_the_oldest_payload_or_its_time() -> None:
    plan = work("- {name: nap, type: wait, duration: 1s}\n")
    step = SignalWait(kind="wait", name="nap", signal="go", deadline=5.0)
    world, state = World(lambda _: {}), fresh(plan, {})
    state.signals["go"] = [1, 2]
    scope = StoppingScope(plan, state, world, None)
    assert [(await execute(step, PLACE, scope)).data for _ in range(2)] == [1, 2]
    late = await execute(step, PLACE, scope)
    assert late.error == Failure("NotSignalled", "the signal 'go' did not come in time")
    assert (world.seconds, state.progress.signal_waits) == (5, {})
    state.skips["work/nap"] = SkipInput(task="work/nap", value=7, by="ann")
    with pytest.raises(Skipped) as skipped:
        await execute(step, PLACE, scope)
    assert (skipped.value.value, state.skips) == (7, {})


async def test_a_wait_for_a_signal_remembers_the_time_that_is_left() -> None:
    plan = work("- {name: nap, type: wait, duration: 1s}\n")
    step = SignalWait(kind="wait", name="nap", signal="go", deadline=4 * _HOUR)
    world, state = World(lambda _: {}), fresh(plan, {})
    with pytest.raises(Interrupted):
        await execute(step, PLACE, PausedScope(plan, state, world, None))
    assert state.progress.signal_waits == {PLACE.key: 3 * _HOUR}
    next_state = carried(state)
    await execute(step, PLACE, StoppingScope(plan, next_state, world, None))
    assert (world.seconds, next_state.progress.signal_waits) == (6 * _HOUR, {})
