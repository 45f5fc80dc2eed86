"""The gates of a chaotic graph are gates, and passing one in an old history is found."""

import json
import random
from itertools import pairwise

import pytest

from tests.chaos.book import Call
from tests.chaos.graphs import dependencies_of, gates_of, passed_gates, random_tasks


def test_a_gate_comes_after_all_before_it_and_before_all_that_follow() -> None:
    before = dependencies_of(random_tasks(160, random.Random(7)))
    gates = gates_of(160)
    assert gates == [100, 120, 140]
    needed: dict[str, set[str]] = {}
    for name, others in before.items():
        needed[name] = {*others, *(one for other in others for one in needed[other])}
    for gate in gates:
        assert needed[f"t{gate}"] == {f"t{n}" for n in range(gate)}
        assert all(f"t{gate}" in needed[f"t{n}"] for n in range(gate + 1, 160))


@pytest.mark.parametrize("tasks", [0, 1, 2, 3, 9])
def test_a_graph_of_any_size_can_be_run(tasks: int) -> None:
    before = dependencies_of(random_tasks(tasks, random.Random(7)))
    names = [*before]
    assert names == [f"t{n}" for n in range(tasks)]
    assert all(set(before[name]) <= set(names[:n]) for n, name in enumerate(names))
    assert all(one < other for one, other in pairwise(gates_of(tasks)))


def calls(first: int, last: int) -> list[Call]:
    """Return one call of each task from the first up to the last."""
    return [
        Call("run_agent", f"{n}", 0.0, input=json.dumps({"inputs": {"task": {"id": f"t{n}"}}}))
        for n in range(first, last)
    ]


def test_a_history_that_goes_on_behind_a_gate_is_found() -> None:
    assert passed_gates([100], [calls(0, 100), calls(100, 160)], 60) == []
    assert passed_gates([100], [calls(0, 101)], 60) == [
        "history 1 has 100 calls before the gate t100"
    ]
    # Temporal suggested nothing yet
    assert passed_gates([100], [calls(41, 160)], 60) == []
