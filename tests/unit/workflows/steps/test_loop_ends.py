"""How loops end and join: whether they completed, and what concurrent rounds may write."""

from typing import cast

import pytest

from dsl.values import Json, JsonValue
from tests.support.one_team import work
from tests.support.runs import task_data
from tests.support.simulation.stopping import undisturbed
from workflows.core.results import RunFailed

NOTE = "{name: note, type: set, values: {v: 1}}"


@pytest.mark.parametrize(
    ("keys", "rounds", "completed"),
    [
        ("iterate_on: [1, 2], loop_variable: n", 2, True),
        ("iterate_on: [1, 2], loop_variable: n, max_iterations: 1", 1, False),
        ("iterate_on: [1, 2], loop_variable: n, max_iterations: 2", 2, True),
        ("iterate_on: [1, 2], loop_variable: n, break_when: '{{ n == 1 }}'", 1, False),
        ("iterate_on: [1, 2], loop_variable: n, until: '{{ n == 1 }}'", 1, True),
        ("iterate_on: [1, 2], loop_variable: n, until: '{{ n == 3 }}'", 2, False),
        ("while: '{{ n < 2 }}', loop_variable: n, max_iterations: 5", 2, True),
        ("while: '{{ n < 2 }}', loop_variable: n, max_iterations: 1", 1, False),
        ("while: '{{ [1, 2][n] < 3 }}', loop_variable: n, max_iterations: 2", 2, False),
        ("until: '{{ false }}', max_iterations: 2", 2, False),
        ("iterate_on: [1, 2], loop_variable: n, concurrency: 2", 2, True),
        ("iterate_on: [1, 2], loop_variable: n, concurrency: 2, max_iterations: 1", 1, False),
    ],
)
async def test_a_loop_completes_if_it_came_to_its_own_end(
    keys: str, rounds: int, completed: bool
) -> None:
    seen = "{{ [tasks.all.data.rounds, tasks.all.data.completed] }}"
    plan = work(f"""
- {{name: all, type: loop, {keys}, body: [{NOTE}]}}
- {{name: end, type: return, value: "{seen}"}}
""")
    result, _ = await undisturbed(plan, {}, lambda _: {})
    assert task_data(result)["end"] == [rounds, completed]


@pytest.mark.parametrize(
    ("writes", "context"),
    [
        ("{'seen.{{ n }}': '{{ n }}'}", {"seen": {"1": 1, "2": 2}}),
        ("{seen: '{{ n }}'}", None),
    ],
)
async def test_concurrent_rounds_write_to_paths_of_their_own(
    writes: str, context: JsonValue
) -> None:
    plan = work(f"""
- name: all
  iterate_on: [1, 2]
  loop_variable: n
  concurrency: 2
  body: [{{name: note, type: set, values: {{v: 1}}, context_updates: {writes}}}]
""")
    if context is None:
        with pytest.raises(RunFailed, match=r"a key for each round, like `seen\.\{\{ item\.id"):
            await undisturbed(plan, {}, lambda _: {})
    else:
        result, _ = await undisturbed(plan, {}, lambda _: {})
        assert result.context == context


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [
        ([1_050_000], [0]),
        ([1_050_000, 30_000], [1]),
        ([1, 1_050_000], [1]),
        ([600_000, 300_000], [0, 1]),
    ],
)
async def test_a_loop_keeps_its_latest_results_up_to_a_megabyte_and_always_the_last(
    sizes: list[int], kept: list[int]
) -> None:
    plan = work("""
- name: all
  iterate_on: "{{ context.sizes }}"
  loop_variable: n
  body: [{name: note, type: set, values: {v: "{{ context.long[:n] }}"}}]
- {name: end, type: return, value: "{{ tasks.all.data }}"}
""")
    context: Json = {"sizes": [*sizes], "long": "x" * max(sizes)}
    result, _ = await undisturbed(plan, context, lambda _: {})
    data = cast("dict[str, list[dict[str, str]]]", task_data(result)["end"])
    assert [len(one["v"]) for one in data["results"]] == [sizes[number] for number in kept]
    assert data.get("dropped", 0) == len(sizes) - len(kept)
