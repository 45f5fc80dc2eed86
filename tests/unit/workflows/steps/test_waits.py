"""What is left of a wait after a pause and a new history."""

from collections.abc import Callable

import pytest

from dsl.model.steps import WaitStep
from tests.support.one_team import work
from tests.support.simulation.stopping import StoppingScope, World, carried, fresh
from workflows.core.location import Location
from workflows.core.scope import Interrupted
from workflows.core.state_keys import MAIN
from workflows.steps.wait import execute

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
        (WaitStep(kind="wait", name="nap", duration="4h"), 6),
        (WaitStep(kind="wait", name="nap", time="2026-01-01T04:00"), 4),
        (WaitStep(kind="wait", name="nap", time="2026-01-01T02:00"), 3),
    ],
)
async def test_a_wait_remembers_a_pause_in_a_new_history(step: WaitStep, ends_after: float) -> None:
    plan = work("- {name: nap, type: wait, duration: 1s}\n")
    world, state = World(lambda _: {}), fresh(plan, {})
    with pytest.raises(Interrupted):
        await execute(step, PLACE, PausedScope(plan, state, world, None))
    outcome = await execute(step, PLACE, StoppingScope(plan, carried(state), world, None))
    assert outcome.status == "success"
    assert world.seconds == ends_after * _HOUR
