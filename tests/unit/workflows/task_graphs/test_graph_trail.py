"""What the trail, the data and the steps show of the tasks of a graph, and what is left out."""

from typing import Any, cast

import pytest

from coterie.activities.contracts import AgentRequest, FunctionRequest
from coterie.dsl.sizes import json_size
from coterie.dsl.values import Json
from coterie.workflows.core.state import RunState
from coterie.workflows.interpreter import run
from tests.support.one_team import agent, work
from tests.support.runs import task_data
from tests.support.simulation.stopping import StoppingScope, World, fresh

KILOBYTE = 1_000
ACT = agent("act", "{{ task.id }}")


class WeighingScope(StoppingScope):
    """A scope that keeps how much work was reported to it."""

    weighed = 0

    def weigh(self, steps: int) -> None:
        self.weighed += steps


class Graph:
    """The run of one graph, and what its agent is asked."""

    def __init__(self, keys: str, body: str = ACT, context: Json | None = None) -> None:
        self.plan = work(f"""
- name: graph
  type: task_graph
  task_variable: task
  on_failure: continue
  {keys.strip()}
  body: [{body}]
- {{name: seen, type: set, values: {{graph: "{{{{ tasks.graph.data }}}}"}}}}
""")
        self.context = context or {}
        self.asked: list[str] = []

    def answer(self, request: AgentRequest | FunctionRequest) -> Json:
        assert isinstance(request, AgentRequest)
        given = str(request.inputs["input"])
        self.asked.append(given)
        return {"fails": "ProviderUnavailable"} if given.startswith("bad") else {"n": given}

    async def run(self) -> dict[str, Any]:
        """The data of the graph."""
        self.state: RunState = fresh(self.plan, self.context)
        self.scope = WeighingScope(self.plan, self.state, World(self.answer), None)
        result = await run(self.scope)
        return cast("dict[str, Any]", cast("Json", task_data(result)["seen"])["graph"])

    @property
    def trail(self) -> list[tuple[str, str]]:
        """The entries of the tasks themselves."""
        steps = [(one.step or "", one.status or "") for one in self.state.trail]
        return [(step[6:], status) for step, status in steps if step[6:].isdigit()]


CHAIN = """tasks: [{id: bad}, {id: after, dependencies: [bad]}, {id: last, dependencies: [after]},
          {id: free}]
  task_retries: 2"""


@pytest.mark.parametrize(
    ("policy", "rest", "asked"),
    [
        (
            "block",
            [("0", "failed"), ("1", "blocked"), ("2", "blocked"), ("3", "started")],
            ["bad", "bad", "bad", "free"],
        ),
        (
            "skip",
            [("0", "skipped"), ("1", "started"), ("1", "completed"), ("2", "started")],
            ["bad", "bad", "bad", "after", "last", "free"],
        ),
        ("stop", [("0", "failed")], ["bad", "bad", "bad"]),
    ],
)
async def test_the_trail_has_each_start_retry_and_end_of_a_task(
    policy: str, rest: list[tuple[str, str]], asked: list[str]
) -> None:
    graph = Graph(f"{CHAIN}\n  on_failed_task: {policy}")
    await graph.run()
    tries = [("0", "started"), ("0", "retried"), ("0", "retried")]
    assert graph.trail[: 3 + len(rest)] == tries + rest
    assert graph.asked == asked


async def test_a_failure_names_at_most_twenty_tasks_that_it_blocks() -> None:
    more: list[Json] = [{"id": f"t{n}", "dependencies": ["bad"]} for n in range(25)]
    tasks: Json = {"tasks": [{"id": "bad"}, *more]}
    graph = Graph("tasks: '{{ context.tasks }}'\n  max_tasks: 99", context=tasks)
    data = await graph.run()
    assert [status for _, status in graph.trail].count("blocked") == 20
    assert data["counts"]["blocked"] == 25


@pytest.mark.parametrize(
    ("sizes", "dropped"),
    [
        ([200, 200, 200, 200], [True, True, False, False]),
        ([100, 300, 300, 100], [True, True, False, False]),
        ([501, 1], [True, False]),
        ([1, 501], [True, False]),
        ([501], [False]),
        ([250, 250], [False, False]),
    ],
)
async def test_a_graph_keeps_its_latest_results_up_to_500_kilobytes(
    sizes: list[int], dropped: list[bool]
) -> None:
    """A result is a text in quotes."""
    context: Json = {"tasks": [{"id": str(n), "size": size} for n, size in enumerate(sizes)]}
    note = "{name: note, type: set, values: {v: '{{ \"x\" * (task.size * 1000 - 8) }}'}}"
    graph = Graph("tasks: '{{ context.tasks }}'\n  max_tasks: 9", note, context)
    data = await graph.run()
    assert [one["data"] is None for one in data["tasks"]] == dropped
    assert data.get("dropped", 0) == sum(dropped)
    kept = [one["data"] for one in data["tasks"] if one["data"] is not None]
    assert [json_size(one) % KILOBYTE for one in kept] == [0] * len(kept)


async def test_a_graph_has_room_for_as_many_tasks_as_it_may_have_with_those_it_adds() -> None:
    add = "{{ [{'id': 'x'}, {'id': 'y'}, {'id': 'z'}] if task.id == 'a' else [] }}"
    graph = Graph(f'tasks: [{{id: a}}]\n  max_tasks: 3\n  add: "{add}"')
    data = await graph.run()
    assert [one["id"] for one in data["tasks"]] == ["a", "x", "y"]
    assert data["notes"]


async def test_a_graph_has_room_for_tasks_of_a_megabyte_with_those_it_adds() -> None:
    given: Json = {"tasks": [{"id": "a", "text": "x" * 600_000}]}
    add = "{{ [{'id': 'b', 'text': task.text}] if task.id == 'a' else [] }}"
    graph = Graph(
        f"tasks: '{{{{ context.tasks }}}}'\n  max_tasks: 9\n  add: \"{add}\"", context=given
    )
    data = await graph.run()
    assert [one["id"] for one in data["tasks"]] == ["a"]
    assert len(data["notes"]) == 1


@pytest.mark.parametrize(("number", "steps"), [(399, 0), (400, 1), (1200, 3)])
async def test_a_long_list_of_tasks_weighs_as_much_as_some_steps(number: int, steps: int) -> None:
    tasks: Json = {"tasks": [{"id": str(n)} for n in range(number)]}
    keys = "tasks: '{{ context.tasks }}'\n  max_tasks: 2000\n  max_iterations: 1"
    graph = Graph(keys, context=tasks)
    await graph.run()
    assert graph.scope.weighed == steps
    adding = Graph(
        "tasks: [{id: a}]\n  max_tasks: 2000\n  max_iterations: 1\n  add: '{{ context.tasks }}'",
        context=tasks,
    )
    await adding.run()
    assert adding.scope.weighed == steps


async def test_an_attempt_that_reads_why_the_one_before_failed_follows_it() -> None:
    why = "{name: why, type: set, values: {v: '{{ graph.error.type }}'}}"
    graph = Graph("tasks: [{id: a}]\n  task_retries: 1", why)
    [task] = (await graph.run())["tasks"]
    assert (task["status"], task["attempts"], task["data"]) == (
        "completed",
        2,
        {"v": "TemplateFailed"},
    )


async def test_a_body_reads_the_attempts_and_the_results_so_far() -> None:
    seen = '{{ graph.tasks | map(attribute="attempts") | join }}'
    count = '{{ graph.tasks | map(attribute="data") | select("none") | list | length }}'
    note = f"{{name: note, type: set, values: {{a: '{seen}', left: '{count}', v: 'LONG'}}}}"
    long = note.replace("LONG", '{{ "x" * 300000 }}')
    graph = Graph("tasks: [{id: a}, {id: b}, {id: c}]", long)
    data = (await graph.run())["tasks"]
    assert data[2]["data"] | {"v": ""} == {"a": "111", "left": 2, "v": ""}
