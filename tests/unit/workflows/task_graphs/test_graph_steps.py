"""Steps of a task graph beside its body: those that select a task, and those after a failure."""

from typing import Any, cast

from tests.support.one_team import work
from tests.support.runs import task_data
from tests.support.simulation.stopping import undisturbed

SELECTING = """
- name: graph
  type: task_graph
  tasks: TASKS
  task_variable: task
  select:
    - {name: pick, type: set, values: {id: one}}
    - {name: never, type: set, when: "{{ 1 == 2 }}", values: {id: two}}
  chosen: "{{ tasks.pick.data.id }}"
  body: [{name: note, type: set, values: {id: "{{ task.id }}"}}]
- name: seen
  type: set
  values: {picked: "{{ tasks.pick.status }}", never: "{{ tasks.never.status }}"}
"""

RECOVERING = """
- name: graph
  type: task_graph
  tasks: [{id: one}]
  task_variable: task
  on_failure: continue
  body: [{name: work, type: fail, error: Broken, message: "it broke"}]
  on_failed_task: STEPS
- name: seen
  type: set
  values:
    ended: "{{ tasks.graph.data.tasks }}"
    error: "{{ tasks.graph.error.type if tasks.graph.error else none }}"
"""


async def seen(text: str) -> dict[str, Any]:
    result, _ = await undisturbed(work(text), {}, lambda _: {})
    return cast("dict[str, Any]", task_data(result)["seen"])


async def test_a_graph_without_tasks_leaves_the_steps_that_select_as_skipped() -> None:
    assert await seen(SELECTING.replace("TASKS", "[]")) == {"picked": "skipped", "never": "skipped"}


async def test_steps_that_select_read_as_they_ended() -> None:
    found = await seen(SELECTING.replace("TASKS", "[{id: one}, {id: two}]"))
    assert found == {"picked": "success", "never": "skipped"}


async def test_a_task_whose_recovery_succeeds_is_completed_with_its_data() -> None:
    found = await seen(
        RECOVERING.replace("STEPS", "[{name: mend, type: set, values: {done: true}}]")
    )
    (task,) = found["ended"]
    assert found["error"] is None
    assert (task["status"], task["data"]) == ("completed", {"done": True})


async def test_a_task_whose_recovery_fails_has_both_errors() -> None:
    steps = "[{name: mend, type: fail, error: WorseStill, message: 'no way back'}]"
    found = await seen(RECOVERING.replace("STEPS", steps))
    (task,) = found["ended"]
    assert found["error"] == "TasksFailed"
    assert task["because"] == (
        "'one' failed: Broken: it broke; on_failed_task failed: WorseStill: no way back"
    )
