"""Which processes may run: one per core, with an equal share for every run."""

from collections import Counter
from contextlib import ExitStack

import pytest

from coterie.activities.process_pool.process_pool import SLICE, CpuTurn, CpuTurns, choose


class Recorded:
    """A process that notes whether it is paused."""

    paused = False

    def set_paused(self, paused: bool) -> None:
        self.paused = paused


@pytest.mark.parametrize("cores", [1, 2, 3])
async def test_as_many_processes_run_as_there_are_cores(cores: int) -> None:
    turns, processes = CpuTurns(cores), [Recorded() for _ in range(5)]
    entered: list[ExitStack] = []
    for number, process in enumerate(processes):
        entered.append(ExitStack())
        entered[-1].enter_context(turns.turn(f"run-{number}", process))
        running = [one for one in processes[: number + 1] if not one.paused]
        assert len(running) == min(cores, number + 1)
        assert process in running, "what comes new begins at once"
    for number, stack in enumerate(entered):
        stack.close()
        assert not processes[number].paused, "what has ended is never left paused"
        running = [one for one in processes[number + 1 :] if not one.paused]
        assert len(running) == min(cores, len(processes) - number - 1)


@pytest.mark.parametrize("cores", [1, 2])
def test_runs_share_the_cores_equally_whatever_number_of_calls_they_make(cores: int) -> None:
    calls = ["hostile"] * 8 + ["first"] * 2 + ["second"] * 2
    turns = [CpuTurn(run, Recorded(), 0.0) for run in calls]
    used = dict.fromkeys(calls, 0.0)
    for _ in range(600):
        for turn in choose(turns, used, cores):
            turn.used += SLICE
            used[turn.run] += SLICE
    shares = [round(seconds / (600 * SLICE * cores), 2) for seconds in used.values()]
    assert shares == [0.33, 0.33, 0.33]
    assert all(turn.used for turn in turns)


async def test_a_run_that_comes_later_owes_nothing_for_the_time_before() -> None:
    turns = CpuTurns(1)
    with turns.turn("long", Recorded()):
        turns._used["long"] = 3_600.0  # pyright: ignore[reportPrivateUsage]
        with turns.turn("new", Recorded()):
            assert 3_590.0 < turns._used["new"] < 3_600.0  # pyright: ignore[reportPrivateUsage]


def test_a_run_with_fewer_calls_is_not_chosen_less_often() -> None:
    turns = [CpuTurn(run, Recorded(), 0.0) for run in ("a", "a", "a", "b")]
    chosen = Counter(turn.run for turn in choose(turns, {"a": 0.0, "b": 0.0}, 2))
    assert chosen == {"a": 1, "b": 1}
