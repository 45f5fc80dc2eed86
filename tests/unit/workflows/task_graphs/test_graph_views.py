"""What running tasks read of a large task graph: shared between them, and not carried along."""

import json
from collections.abc import Callable
from typing import cast

from coterie.activities.contracts import AgentRequest, FunctionRequest
from coterie.dsl.model.plan import Plan
from coterie.dsl.sizes import MAX_VALUE_SIZE
from coterie.dsl.task_graph.graph_data import GraphView
from coterie.dsl.values import Json
from coterie.workflows.core.scope import Interrupted
from coterie.workflows.core.state import RunState
from coterie.workflows.interpreter import run
from tests.support.one_team import work
from tests.support.simulation.stopping import StoppingScope, World, fresh

TASKS, CONCURRENCY = 2000, 20
LOOK = "{{ [graph.tasks | length, graph.dependencies | length, graph.iteration, graph | length] }}"


def plan(look: str = LOOK) -> Plan:
    return work(f"""
- name: graph
  type: task_graph
  tasks: "{{{{ context.tasks }}}}"
  task_variable: task
  concurrency: {CONCURRENCY}
  max_tasks: {TASKS}
  body:
    - {{name: begin, type: wait, signal: go, when: "{{{{ task.held }}}}"}}
    - {{name: look, type: set, values: {{seen: "{look}"}}}}
""")


def tasks(number: int) -> Json:
    """Half of the tasks that run first are held; each of the others depends on one of them."""
    return {
        "tasks": [
            {
                "id": f"t{n}",
                "held": n % 2 == 1 and n < 2 * CONCURRENCY,
                "dependencies": [f"t{n - 2 * CONCURRENCY}"] if n >= 2 * CONCURRENCY else [],
                "description": f"A task with a text of its own: {n}",
            }
            for n in range(number)
        ]
    }


def answer(_: AgentRequest | FunctionRequest) -> Json:
    return {}


class HeldScope(StoppingScope):
    """Stops the run when every job waits for a signal: it has to continue as new."""

    async def wait_until(
        self,
        ready: Callable[[], bool],
        seconds: float | None,
        summary: str,
        *,
        boundary: bool = True,
        stands_still: bool = True,
    ) -> bool:
        raise Interrupted


async def held(number: int) -> RunState:
    state = fresh(plan(), tasks(number))
    try:
        await run(HeldScope(plan(), state, World(answer), None))
    except Interrupted:
        return state
    raise AssertionError("it was to be interrupted")


def views(state: RunState) -> list[GraphView]:
    found = (frame.variables.get("graph") for frame in state.frames.values())
    return [one for one in found if isinstance(one, GraphView)]


async def test_running_tasks_share_what_they_read_of_the_tasks_of_their_graph() -> None:
    seen = views(await held(TASKS))
    assert len(seen) == CONCURRENCY
    lists = [one["tasks"] for one in seen]
    assert all(isinstance(one, list) and len(one) == TASKS for one in lists)
    distinct = {id(task) for one in lists if isinstance(one, list) for task in one}
    # not 40,000: a task is shown anew only when it has changed, and when one before it has ended
    assert len(distinct) < 2 * TASKS


async def test_a_run_that_continues_as_new_carries_no_view_of_the_graph() -> None:
    state = await held(TASKS)
    carried = state.carried()
    assert len(json.dumps(carried)) < MAX_VALUE_SIZE
    frames = [one for one in RunState.resumed(carried).frames.values() if "graph" in one.variables]
    assert len(frames) == CONCURRENCY
    assert all(len(json.dumps(frame.variables["graph"])) < 200 for frame in frames)


async def test_a_run_that_continued_as_new_reads_the_graph_as_it_is_then() -> None:
    state = RunState.resumed((await held(60)).carried())
    state.signals["go"] = [True] * CONCURRENCY
    result = await run(StoppingScope(plan(), state, World(answer), None))
    assert isinstance(result.output, dict)
    data = result.output["graph"]
    assert isinstance(data, dict)
    assert data["completed"] is True
    ended = cast("list[dict[str, dict[str, list[int]]]]", data["tasks"])
    seen = [task["data"]["seen"] for task in ended]
    assert all(one[0] == 60 and one[3] == 5 for one in seen)
    assert [one[1] for one in seen] == [0] * 40 + [1] * 20
    assert sorted(one[2] for one in seen) == list(range(1, 61))
