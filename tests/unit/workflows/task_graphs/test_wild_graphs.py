"""Whatever a planner and its tasks do, a task graph ends in a stated way, within its limits.

`EXAMPLES=1000 pytest tests/unit/workflows/task_graphs/test_wild_graphs.py` tries 1,000 graphs, each
once undisturbed and once stopped at every second checkpoint, as continuing as new does.
"""

import json
import os
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from coterie.activities.contracts import AgentRequest, FunctionRequest
from coterie.dsl.task_graph.graph_tasks import GRAPH_TASK_STATUSES
from coterie.dsl.values import Json
from coterie.workflows.core.views import TeamResult
from tests.support.one_team import work
from tests.support.simulation.stopping import World, stopped_everywhere, undisturbed

EXAMPLES = int(os.environ.get("EXAMPLES", "25"))
ODD: list[Any] = ["", "a b", "\u00e9" * 5, None, 1.5, ["a"]]
NO_TASKS: list[Any] = [None, 7, "task", [], {}]
NO_LISTS: list[Any] = ["a", None]
IDS: st.SearchStrategy[Any] = st.sampled_from([*"abcdef", 0, 1, 2, 3, *ODD])
DEPENDENCIES: st.SearchStrategy[Any] = st.lists(IDS, max_size=4) | st.sampled_from(NO_LISTS)
TASK: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"id": IDS}, optional={"dependencies": DEPENDENCIES, "description": st.just("Do it.")}
)
TASKS: st.SearchStrategy[list[Any]] = st.lists(TASK | st.sampled_from(NO_TASKS), max_size=12)
"""What models answer: also ids twice, cycles, unknown dependencies and what is no task."""

TOO_MANY = "TooManyTasks"
STATED = {None, TOO_MANY, "TasksFailed", "Broken"}
"""Why a graph may fail, as docs/failures.md says."""


@dataclass(frozen=True)
class WildGraph:
    tasks: list[Any]
    limits: dict[str, int]
    order: str
    on_failed: str
    seed: int
    failing: float
    more: list[Any] = field(default_factory=list[Any])

    @property
    def text(self) -> str:
        limits = ", ".join(f"{key}: {value}" for key, value in self.limits.items())
        return (
            f"- {{name: graph, type: task_graph, tasks: '{{{{ context.tasks }}}}', "
            f"task_variable: task, {limits}, order: {self.order}, "
            f"on_failed_task: {self.on_failed}, on_failure: continue, "
            "add: '{{ tasks.act.data.more }}', body: [{name: act, "
            "agent_type: generic_single_shot, persona_key: writer, input: '{{ task.id }}'}]}\n"
            "- {name: seen, type: set, values: {graph: '{{ tasks.graph.data }}', "
            "why: '{{ tasks.graph.error.type if tasks.graph.error else none }}'}}\n"
        )


@st.composite
def wild(draw: st.DrawFn) -> WildGraph:
    limits = {
        "concurrency": draw(st.integers(1, 5)),
        "max_tasks": draw(st.integers(1, 15)),
        "max_iterations": draw(st.integers(1, 20)),
        "task_retries": draw(st.integers(0, 3)),
    }
    return WildGraph(
        draw(TASKS),
        limits,
        draw(st.sampled_from(["written", "critical_path"])),
        draw(st.sampled_from(["block", "skip", "stop", "ask"])),
        draw(st.integers(0, 999)),
        draw(st.sampled_from([0.0, 0.2, 0.6, 1.0])),
        draw(TASKS),
    )


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(wild())
async def test_a_task_graph_ends_in_a_stated_way_within_its_limits(of: WildGraph) -> None:
    plan = work(of.text)
    context: Json = {"tasks": of.tasks}
    for run in (undisturbed, stopped_everywhere):
        result, world = await run(plan, context, answers(of))
        check(of, result, world)


def answers(of: WildGraph) -> Any:
    """Let each attempt of a task come to the same, whenever it runs."""
    attempts: Counter[str] = Counter()

    def answer(request: AgentRequest | FunctionRequest) -> Json:
        assert isinstance(request, AgentRequest)
        task = json.dumps(request.inputs, sort_keys=True)
        attempts[task] += 1
        chance = Random(f"{of.seed} {task} {attempts[task]}")
        if chance.random() < of.failing:
            return {"fails": "Broken"}
        adds = chance.random() < 0.3
        return {"n": 1, "more": of.more if adds else []}

    return answer


def check(of: WildGraph, result: TeamResult, world: World) -> None:
    assert result.end == "completed", result.because
    output: Any = result.output
    data: Any = output["seen"]["graph"]
    why = output["seen"]["why"]
    assert why in STATED, why
    if data is None:
        event(TOO_MANY)
        assert (why, world.calls) == (TOO_MANY, []), "nothing has run"
        assert len(of.tasks) > of.limits["max_tasks"]
        return
    limits, tasks = of.limits, data["tasks"]
    event(f"{of.on_failed}: {'completed' if data['completed'] else 'not completed'}")
    assert len(world.calls) == len(set(world.calls)), "a recorded call was made again"
    asked = sum(one.verdict == "retried" for one in result.decisions)
    by_people = asked * (limits["task_retries"] + 1)  # comes on top of the limit
    left = data["iterations"] - len(world.calls)  # begun when the graph stopped, before their call
    assert 0 <= left < (limits["concurrency"] if of.on_failed == "stop" else 1)
    assert data["iterations"] <= limits["max_iterations"] + by_people
    assert len(tasks) <= limits["max_tasks"]
    assert len({task["id"] for task in tasks}) == len(tasks)
    found = Counter(task["status"] for task in tasks)
    assert found == {key: number for key, number in data["counts"].items() if number}
    assert set(found) <= {*GRAPH_TASK_STATUSES} - {"in_progress"}
    assert all(task["because"] for task in tasks)
    most = (limits["task_retries"] + 1) * (2 if of.on_failed == "ask" else 1)
    assert all(task["attempts"] <= most for task in tasks)
    if found["pending"]:
        stopped = of.on_failed == "stop" and found["failed"]
        assert stopped or data["iterations"] >= limits["max_iterations"]
    assert data["completed"] == (found["completed"] == len(tasks))
