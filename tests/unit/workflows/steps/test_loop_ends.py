"""How loops end and join: whether they completed, and what concurrent rounds may write."""

from collections.abc import Callable, Mapping, Set
from typing import cast

import pytest

from coterie.dsl.sizes import MAX_VALUE_SIZE
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.scope import Interrupted, Jobs
from coterie.workflows.interpreter import run
from tests.support.compiling import plan_of
from tests.support.one_team import agent, document, work
from tests.support.runs import task_data
from tests.support.simulation.stopping import StoppingScope, World, carried, fresh, undisturbed

NOTE = "{name: note, type: set, values: {v: 1}}"
COUNT = "{name: note, type: set, values: {v: 1}, context_updates: {n: {increment: 1}}}"


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
        ("while: '{{ 1 // (2 - context.n) > 0 }}', max_iterations: 1", 1, False),
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
- {{name: all, type: loop, {keys}, body: [{COUNT}]}}
- {{name: end, type: return, value: "{seen}"}}
""")
    result, _ = await undisturbed(plan, {"n": 1}, lambda _: {})
    assert task_data(result)["end"] == [rounds, completed]


@pytest.mark.parametrize(
    "keys",
    ["iterate_on: [1, 2]", "iterate_on: [1, 2], concurrency: 2", "while: '{{ n < 2 }}'"],
    ids=["list", "concurrent", "while"],
)
async def test_the_variable_of_a_loop_ends_with_it(keys: str) -> None:
    plan = work(f"""
- {{name: all, type: loop, {keys}, loop_variable: n, max_iterations: 5, body: [{NOTE}]}}
- {{name: end, type: return, value: "{{{{ n is defined }}}}"}}
""")
    result, _ = await undisturbed(plan, {}, lambda _: {})
    assert task_data(result)["end"] is False


@pytest.mark.parametrize("concurrency", [1, 2])
async def test_a_loop_fails_with_its_round_and_keeps_what_its_rounds_gave(concurrency: int) -> None:
    seen = "{{ [tasks.all.error.type, tasks.all.data] }}"
    plan = work(f"""
- name: all
  iterate_on: [1, 2, 3]
  loop_variable: n
  concurrency: {concurrency}
  on_failure: continue
  body:
    - {NOTE}
    - {{name: no, type: fail, error: Broken, message: no, when: "{{{{ n == 2 }}}}"}}
- {{name: end, type: return, value: "{seen}"}}
""")
    result, _ = await undisturbed(plan, {}, lambda _: {})
    rounds = 2
    error, data = cast("tuple[str, Json]", task_data(result)["end"])
    assert (error, data["rounds"], data["completed"]) == ("Broken", rounds, False)


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
        ([499_992, 499_992], [0, 1]),
        ([499_992, 499_993], [1]),
        ([990_000, 19_991], [0, 1]),
        ([990_000, 19_992], [1]),
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


@pytest.mark.parametrize("concurrency", [1, 2])
@pytest.mark.parametrize(
    ("given", "error"),
    [(7, "NotAList"), (["x" * MAX_VALUE_SIZE], "ValueTooLarge"), ([], None)],
    ids=["no list", "too large", "empty"],
)
async def test_a_loop_goes_over_a_list_that_is_small_enough(
    given: JsonValue, error: str | None, concurrency: int
) -> None:
    plan = work(f"""
- name: all
  iterate_on: "{{{{ context.list }}}}"
  loop_variable: n
  concurrency: {concurrency}
  on_failure: continue
  body: [{NOTE}]
- name: end
  type: return
  value: "{{{{ tasks.all.error.type if tasks.all.error else none }}}}"
""")
    result, _ = await undisturbed(plan, {"list": given}, lambda _: {})
    assert task_data(result)["end"] == error


async def test_a_concurrent_round_that_fails_writes_nothing() -> None:
    plan = work("""
- name: all
  iterate_on: [1, 2]
  loop_variable: n
  concurrency: 2
  on_failure: continue
  body:
    - {name: note, type: set, values: {v: 1}, context_updates: {"seen.{{ n }}": 1}}
    - {name: no, type: fail, message: no, when: "{{ n == 2 }}"}
""")
    result, _ = await undisturbed(plan, {}, lambda _: {})
    assert result.context == {"seen": {"1": 1}}


class RoundsScope(StoppingScope):
    """Keeps which rounds a loop runs, and which of them it says have begun."""

    rounds: list[tuple[int, list[str], Set[str]]]

    async def together(
        self,
        jobs: Jobs,
        *,
        enough: Callable[[frozenset[str]], bool],
        at_once: int | None = None,
        seconds: float | None = None,
        wake: Callable[[], bool] | None = None,
        begun: Set[str] = frozenset(),
    ) -> frozenset[str]:
        assert isinstance(jobs, Mapping)
        self.rounds.append((len(jobs), list(jobs), begun))
        return await super().together(jobs, enough=enough)


async def test_a_run_that_continues_as_new_says_which_rounds_have_begun() -> None:
    plan = work(f"""
- name: all
  iterate_on: [1, 2, 3, 4]
  loop_variable: n
  concurrency: 2
  body: [{NOTE}, {agent("ask")}]
""")
    world, state = World(lambda _: {}), fresh(plan, {})
    first = RoundsScope(plan, state, world, 4)
    first.rounds = []
    with pytest.raises(Interrupted):
        await run(first)
    again = RoundsScope(plan, carried(state), world, None)
    again.rounds = []
    await run(again)
    assert first.rounds == [(4, ["0", "1", "2", "3"], set())]
    assert again.rounds == [(3, ["1", "2", "3"], {"1", "2", "3"})]


class WeighingScope(StoppingScope):
    """Keeps how much is weighed."""

    weights: list[int]

    def weigh(self, steps: int) -> None:
        self.weights.append(steps)


@pytest.mark.parametrize(("items", "weight"), [(399, []), (1_200, [3])])
async def test_four_hundred_items_of_a_list_weigh_as_much_as_a_step(
    items: int, weight: list[int]
) -> None:
    keys = f"iterate_on: '{{{{ range({items}) | list }}}}', loop_variable: n, max_iterations: 1"
    plan = work(f"- {{name: all, {keys}, body: [{NOTE}]}}")
    scope = WeighingScope(plan, fresh(plan, {}), World(lambda _: {}), None)
    scope.weights = []
    await run(scope)
    assert [one for one in scope.weights if one] == weight


async def test_a_loop_forgets_which_calls_it_repeated_when_it_ends() -> None:
    look = "{name: look, tool: look, arguments: {path: .}}"
    inner = f"iterate_on: [1, 2], loop_variable: m, repeated_calls: stop, body: [{look}]"
    plan = plan_of(
        "tools: {look: {skill: Discovery.collect}}\n"
        + document(
            f"- {{name: all, iterate_on: [1, 2, 3], loop_variable: n, "
            f"repeated_calls: allow, body: [{{name: inner, {inner}}}]}}\n"
        )
    )
    _, world = await undisturbed(plan, {}, lambda _: {"files": []})
    assert len(world.calls) == 6
