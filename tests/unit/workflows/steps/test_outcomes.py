"""What templates read of an outcome: its seconds, its data or its error, whether a loop completed.

Each row holds wherever the run is stopped and goes on.
"""

import pytest
from pydantic import JsonValue

from coterie.activities.contracts import AgentRequest, FunctionRequest
from coterie.dsl.values import Json
from tests.support.one_team import agent, work
from tests.support.runs import task_data
from tests.support.simulation.stopping import stopped_everywhere, undisturbed


def answer(request: AgentRequest | FunctionRequest) -> Json:
    assert isinstance(request, AgentRequest)
    return {"fails": "Broken"} if request.task.startswith("bad") else {"n": 1}


def body(more: str = "") -> str:
    return f"loop_variable: n, max_iterations: 2, body: [{agent('inner')}]{more}"


def failing(name: str) -> str:
    return agent(name).replace("}", ", on_failure: continue}", 1)


ROWS: dict[str, tuple[str, str, JsonValue]] = {
    "a call takes as long as the run's clock says": (agent("one"), "tasks.one.seconds", 1.0),
    "a step with nested steps takes as long as all of them": (
        f"{{name: all, iterate_on: [1, 2, 3], loop_variable: x, body: [{agent('inner')}]}}",
        "tasks.all.seconds",
        3.0,
    ),
    "the waits between attempts count": (
        "{name: t, type: try, catch: [{error: '*'}], steps: ["
        + agent("bad").replace("}", ", retry: {retries: 1, interval: 5}}", 1)
        + "]}",
        "[tasks.bad.seconds, tasks.t.seconds]",
        [7.0, 7.0],
    ),
    "a step that did not run took no time": (
        agent("one").replace("}", ", when: '{{ false }}'}", 1),
        "tasks.one.seconds",
        0.0,
    ),
    "seconds are rounded to milliseconds": (
        "{name: w, type: wait, duration: 0.12345}",
        "tasks.w.seconds",
        0.123,
    ),
    "the data of a success": (agent("one"), "tasks.one.data_or_error", {"n": 1}),
    "the words of a failure": (failing("bad"), "tasks.bad.data_or_error", "on purpose"),
    "null of what did not run": (
        agent("one").replace("}", ", when: '{{ false }}'}", 1),
        "tasks.one.data_or_error",
        None,
    ),
    "the whole of an outcome has neither times nor anything twice": (
        agent("one"),
        "tasks.one",
        {"status": "success", "success": True, "data": {"n": 1}, "error": None},
    ),
    "a list that is over": (
        f"{{name: l, iterate_on: [1, 2], {body()}}}",
        "tasks.l.data.completed",
        True,
    ),
    "an empty list": (f"{{name: l, iterate_on: [], {body()}}}", "tasks.l.data.completed", True),
    "a list that is longer than the bound": (
        f"{{name: l, iterate_on: [1, 2, 3], {body()}}}",
        "tasks.l.data.completed",
        False,
    ),
    "a list left by break_when in its last round": (
        f"{{name: l, iterate_on: [1, 2], break_when: '{{{{ n == 2 }}}}', {body()}}}",
        "tasks.l.data.completed",
        False,
    ),
    "concurrent rounds of a whole list": (
        f"{{name: l, iterate_on: [1, 2], concurrency: 2, {body()}}}",
        "tasks.l.data.completed",
        True,
    ),
    "concurrent rounds of a list that is longer than the bound": (
        f"{{name: l, iterate_on: [1, 2, 3], concurrency: 2, {body()}}}",
        "tasks.l.data.completed",
        False,
    ),
    "an until that holds in the last round that it may have": (
        f"{{name: l, type: loop, until: '{{{{ n == 1 }}}}', {body()}}}",
        "tasks.l.data.completed",
        True,
    ),
    "an until that never holds": (
        f"{{name: l, type: loop, until: '{{{{ false }}}}', {body()}}}",
        "tasks.l.data.completed",
        False,
    ),
    "a while that ends before its bound": (
        f"{{name: l, type: loop, while: '{{{{ n < 1 }}}}', {body()}}}",
        "tasks.l.data.completed",
        True,
    ),
    "a while that ends at its bound": (
        "{name: l, type: loop, while: '{{ tasks.inner is undefined }}', loop_variable: n, "
        f"max_iterations: 1, body: [{agent('inner')}]}}",
        "tasks.l.data.completed",
        True,
    ),
    "a while that its bound ends": (
        f"{{name: l, type: loop, while: '{{{{ true }}}}', {body()}}}",
        "tasks.l.data.completed",
        False,
    ),
    "a loop whose round failed": (
        f"{{name: l, iterate_on: [1], loop_variable: n, on_failure: continue, "
        f"body: [{agent('bad')}]}}",
        "tasks.l.data.completed",
        False,
    ),
}


@pytest.mark.parametrize(("task", "template", "wanted"), ROWS.values(), ids=ROWS)
async def test_a_template_reads_of_an_outcome(task: str, template: str, wanted: JsonValue) -> None:
    plan = work(f"- {task}\n- {{name: end, type: set, values: {{seen: '{{{{ {template} }}}}'}}}}\n")
    first, _ = await undisturbed(plan, {}, answer)
    again, _ = await stopped_everywhere(plan, {}, answer)
    for result in (first, again):
        assert task_data(result)["end"] == {"seen": wanted}


async def test_a_prompt_gets_the_seconds_and_the_whole_of_one_outcome() -> None:
    """The slice of the facts that a call takes along has both, in either order."""
    asked: list[JsonValue] = []

    def looking(request: AgentRequest | FunctionRequest) -> Json:
        assert isinstance(request, AgentRequest)
        asked.append(request.inputs.get("input"))
        return {"n": 1}

    given = "{{ tasks.one.seconds }} {{ tasks.one }} {{ tasks.one.data_or_error }}"
    await undisturbed(work(f"- {agent('one')}\n- {agent('two', given)}\n"), {}, looking)
    whole = '{"success": true, "status": "success", "data": {"n": 1}, "error": null}'
    assert asked[1] == f'1.0 {whole} {{"n": 1}}'
