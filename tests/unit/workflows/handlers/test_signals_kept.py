"""Signals with a name of the plan: kept in order for the step that waits, and only so many."""

import pytest

from tests.support.compiling import plan_of
from tests.support.simulation.judging_run import JudgingRun, outside_of_temporal, raw

PLAN = """
orchestration:
  entry_team: work
  teams:
    work:
      tasks: [{name: nod, type: wait, signal: go}]
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> JudgingRun:
    outside_of_temporal(monkeypatch)
    return JudgingRun(plan_of(PLAN))


def refusals(run: JudgingRun) -> list[str]:
    return [entry.because for entry in run.state.trail if entry.kind == "refused"]


async def test_the_hundredth_signal_that_waits_is_kept_and_the_next_is_refused(
    run: JudgingRun,
) -> None:
    for number in range(100):
        await run.keep_signal("go", raw(number))
    assert refusals(run) == []
    await run.keep_signal("go", raw("one more"))
    assert refusals(run) == ["100 signals 'go' wait already"]
    assert run.state.signals == {"go": list(range(100))}
    run.state.signals["go"].pop(0)
    await run.keep_signal("go", raw("room again"))
    assert run.state.signals["go"][-2:] == [99, "room again"]


async def test_a_signal_that_nothing_waits_for_is_refused_and_not_kept(run: JudgingRun) -> None:
    await run.keep_signal("gone", raw(1))
    run.plan = None
    await run.keep_signal("go", raw(1))
    text = "no step of this plan waits for a signal "
    assert refusals(run) == [f"{text}'gone'", f"{text}'go'"]
    assert run.state.signals == {}


async def test_waiting_signals_of_one_name_are_bounded_in_size(run: JudgingRun) -> None:
    large = "x" * 60_000
    for _ in range(200):
        await run.keep_signal("go", raw(large))
        if refusals(run):
            break
    kept = len(run.state.signals["go"])
    assert 0 < kept < 100
    assert refusals(run)[0].startswith("what waits as signal 'go'")


async def test_a_signal_with_two_arguments_is_refused_and_not_kept(run: JudgingRun) -> None:
    await run.keep_signal("go", [*raw(1), *raw(2)])
    assert [entry.status for entry in run.state.trail] == ["Malformed"]
    assert run.state.signals == {"go": []}
