"""The attempts of a graph's tasks: what they keep, what they write, and what saves them."""

import asyncio
from typing import Any, cast

import pytest

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
)
from coterie.dsl.values import Json
from coterie.workflows.core.views import TeamResult
from tests.support.one_team import agent, work
from tests.support.simulation.local_run import run_local
from tests.support.simulation.stopping import Answer, World, stopped_everywhere, undisturbed

ACT = agent("act", "{{ task.id }}")


def text(keys: str, body: str = ACT) -> str:
    return f"""
- name: graph
  type: task_graph
  task_variable: task
  on_failure: continue
  {keys.strip()}
  body: [{body}]
- name: seen
  type: set
  values:
    graph: "{{{{ tasks.graph.data }}}}"
    error: "{{{{ tasks.graph.error.type if tasks.graph.error else none }}}}"
"""


async def ran(keys: str, answer: Answer, body: str = ACT) -> tuple[TeamResult, World]:
    """The run of a graph, the same wherever it is stopped."""
    plan = work(text(keys, body))
    whole, world = await undisturbed(plan, {}, answer)
    parts, again = await stopped_everywhere(plan, {}, answer)
    assert (parts.output, parts.context) == (whole.output, whole.context)
    assert again.calls == world.calls
    return whole, world


def seen(result: TeamResult) -> dict[str, Any]:
    assert isinstance(result.output, dict)
    return cast("dict[str, Any]", result.output["seen"])


def tasks(result: TeamResult) -> list[tuple[str, str, int, object]]:
    found = seen(result)["graph"]["tasks"]
    return [(one["id"], one["status"], one["attempts"], one["data"]) for one in found]


def because(result: TeamResult) -> list[str]:
    return [one["because"] for one in seen(result)["graph"]["tasks"]]


def broken(request: AgentRequest | FunctionRequest) -> Json:
    return {"fails": "ProviderUnavailable"}


async def test_a_person_who_retries_a_task_gives_it_all_its_attempts_again() -> None:
    """Ann retries the task once, and then skips it with a value."""
    keys = "tasks: [{id: a}]\n  task_retries: 1\n  on_failed_task: ask"
    result, world = await ran(keys, broken)
    assert len(world.calls) == 4
    assert tasks(result) == [("a", "skipped", 4, {"n": 1})]


RECOVERY = "on_failed_task: [{name: mend, type: set, values: {found: '{{ half is defined }}'}}]"
HALF = "{name: half_done, type: set, values: {half: 1}, context_updates: {half: '{{ task.id }}'}}"


async def test_steps_that_save_a_task_see_its_last_attempt_and_drop_what_it_wrote() -> None:
    keys = f"tasks: [{{id: a}}]\n  task_retries: 1\n  {RECOVERY}"
    result, world = await ran(keys, broken, f"{HALF}, {ACT}")
    assert len(world.calls) == 2
    assert tasks(result) == [("a", "completed", 2, {"found": True})]
    assert seen(result)["graph"]["iterations"] == 2
    assert "on_failed_task" in because(result)[0]
    assert result.context == {}


async def test_an_attempt_begins_without_what_the_one_before_left() -> None:
    keys = "tasks: [{id: a}]\n  task_retries: 1"
    first = "{name: look, type: set, values: {old: '{{ half is defined }}'}}"
    calls: list[str] = []

    def second_works(request: AgentRequest | FunctionRequest) -> Json:
        calls.append("act")
        return {"n": 1} if len(calls) % 2 == 0 else broken(request)

    last = "{name: end, type: set, values: {seen: '{{ old }}'}}"
    result, _ = await ran(keys, second_works, f"{first}, {HALF}, {ACT}, {last}")
    assert tasks(result) == [("a", "completed", 2, {"seen": False})]
    assert result.context == {"half": "a"}


class Slow:
    """A world whose agent takes long for the task `b`."""

    async def run_agent(self, request: AgentRequest) -> AgentResponse:
        for _ in range(20 if request.inputs["input"] == "b" else 1):
            await asyncio.sleep(0)
        return AgentResponse(data={})

    async def call_function(self, request: FunctionRequest) -> FunctionResult:
        raise NotImplementedError


async def test_a_task_fails_if_another_one_has_written_what_rules_its_own_write_out() -> None:
    writes = ", ".join(
        f"{{name: {name}, type: set, values: {{v: 1}}, when: '{{{{ task.id == \"{name}\" }}}}', "
        f"context_updates: {{{path}: 1}}}}"
        for name, path in (("a", "p"), ("b", "p.q"))
    )
    plan = work(text("tasks: [{id: a}, {id: b}]\n  concurrency: 2", f"{writes}, {ACT}"))
    result = await run_local(plan, {}, Slow())
    assert [one[:2] for one in tasks(result)] == [("a", "completed"), ("b", "failed")]
    assert "ContextConflict" in because(result)[1]
    assert result.context == {"p": 1}


@pytest.mark.parametrize(
    ("add", "statuses", "why"),
    [
        ("{{ [{'id': 'b', 'last': true}] if 'last' not in task else none }}", "completed " * 2, ""),
        ("{{ none }}", "completed", ""),
        ("{{ [] }}", "completed", ""),
        ("{{ 5 }}", "failed", "NotAList: add of 'graph' gives a int"),
        ("{{ task.no.such }}", "failed", "TemplateFailed"),
    ],
)
async def test_a_body_adds_a_list_of_tasks_or_none(add: str, statuses: str, why: str) -> None:
    keys = f'tasks: [{{id: a}}]\n  max_tasks: 9\n  add: "{add}"'
    result, _ = await ran(keys, lambda _: {"n": 1})
    assert [one[1] for one in tasks(result)] == statuses.split()
    assert why in because(result)[0]


@pytest.mark.parametrize(
    ("body", "data"),
    [
        (f"{ACT}, {{name: no, type: set, values: {{v: 1}}, when: '{{{{ false }}}}'}}", {"n": 1}),
        (f"{{name: yes, type: set, values: {{v: 1}}}}, {ACT}", {"n": 1}),
        ("{name: no, type: set, values: {v: 1}, when: '{{ false }}'}", None),
    ],
    ids=["the last is skipped", "both ran", "none ran"],
)
async def test_the_result_of_a_task_is_that_of_its_last_step_that_ran(
    body: str, data: object
) -> None:
    result, _ = await ran("tasks: [{id: a}]", lambda _: {"n": 1}, body)
    assert tasks(result) == [("a", "completed", 1, data)]


async def test_each_attempt_of_a_task_sees_which_one_it_is() -> None:
    look = "{name: look, type: set, values: {at: '{{ graph.tasks[0].attempts }}'}}"
    answers: list[str] = []

    def third_works(request: AgentRequest | FunctionRequest) -> Json:
        answers.append("act")
        return {"n": 1} if len(answers) % 3 == 0 else broken(request)

    last = "{name: end, type: set, values: {seen: '{{ at }}'}}"
    keys = "tasks: [{id: a}]\n  task_retries: 2"
    result, _ = await ran(keys, third_works, f"{look}, {ACT}, {last}")
    assert tasks(result) == [("a", "completed", 3, {"seen": 3})]
