"""What a cancelled run still does on its way out is noted, and fails nothing."""

from dsl.errors import TemplateFailed
from tests.support.compiling import plan_of
from tests.support.simulation.stopping import StoppingScope, World, fresh
from workflows.control.cancellation import at_last

PLAN = plan_of("orchestration: {entry_team: a, teams: {a: {tasks: [{name: s}]}}}")


async def test_failure_at_the_end_of_a_run_is_noted_without_a_visit() -> None:
    scope = StoppingScope(PLAN, fresh(PLAN, {}), World(lambda _: {}), None)

    async def work() -> None:
        raise TemplateFailed("no x")

    await at_last(scope, "a/s", work)
    noted = scope.state.trail[-1]
    assert (noted.kind, noted.team, noted.visit, noted.step) == ("step", "", 0, "a/s")
    assert (noted.status, noted.because) == ("failed", "TemplateFailed: no x")


async def test_cleanup_without_time_left_is_noted_without_a_visit() -> None:
    world = World(lambda _: {})
    scope = StoppingScope(PLAN, fresh(PLAN, {}), world, None)
    scope.state.stop_by = scope.time()

    async def work() -> None:
        raise AssertionError

    await at_last(scope, "a/s", work)
    noted = scope.state.trail[-1]
    assert (noted.team, noted.visit, noted.step, noted.status) == ("", 0, "a/s", "cancelled")
    assert noted.because == "cancel_timeout: 60 s have passed"
