"""`fail_when` turns a result into a failure that keeps its data and counts for everything."""

import pytest
from pydantic import JsonValue

from coterie.activities.contracts import AgentRequest, FunctionRequest
from coterie.dsl.values import Json
from coterie.workflows.interpreter import run
from tests.support.compiling import problems_of
from tests.support.one_team import agent, document, work
from tests.support.runs import task_data
from tests.support.simulation.stopping import (
    StoppingScope,
    World,
    fresh,
    stopped_everywhere,
    undisturbed,
)


def answer(request: AgentRequest | FunctionRequest) -> Json:
    return {"n": 1, "items": []}


def asked(more: str, name: str = "one") -> str:
    return agent(name).replace("}", f", {more}}}", 1)


CONTINUE = "on_failure: continue"
ROWS: dict[str, tuple[str, str, JsonValue, int]] = {
    "the data of the step itself": (
        asked(f"fail_when: '{{{{ data.items == [] }}}}', {CONTINUE}"),
        "[tasks.one.status, tasks.one.error.type, tasks.one.data.n]",
        ["failure", "ResultRejected", 1],
        1,
    ),
    "a result that is good enough": (
        asked("fail_when: '{{ data.n == 2 }}', output_variable: kept"),
        "[tasks.one.status, kept.n]",
        ["success", 1],
        1,
    ),
    "the seconds of the attempt": (
        asked(f"fail_when: '{{{{ seconds > 0.5 }}}}', retry: {{retries: 1}}, {CONTINUE}"),
        "[tasks.one.status, tasks.one.seconds]",
        ["failure", 2.0],
        2,
    ),
    "an attempt is not longer for the one before it": (
        asked(
            "fail_when: '{{ seconds > 1.5 or data.items == [] }}', "
            f"retry: {{retries: 1, errors: [ResultRejected]}}, {CONTINUE}"
        ),
        "tasks.one.data_or_error",
        "`fail_when` of 'one' holds: seconds is 1.0, data.items is [] "
        "(seconds > 1.5 or data.items == [])",
        2,
    ),
    "a condition on its own data by its name": (
        asked(
            "fail_when: {task: one, output_field: items, operator: is_empty}, on_failure: continue"
        ),
        "tasks.one.data_or_error",
        "`fail_when` of 'one' holds: one.items is [] (is_empty)",
        1,
    ),
    "all parts of a list of conditions": (
        asked(
            "fail_when: [{context_field: x, operator: exists}, '{{ data.n == 1 }}'], "
            "on_failure: continue"
        ),
        "tasks.one.status",
        "success",
        1,
    ),
    "what the steps of a block came to": (
        f"{{name: b, type: block, fail_when: '{{{{ tasks.inner.data.n == 1 }}}}', {CONTINUE}, "
        f"retry: {{retries: 1}}, steps: [{agent('inner')}]}}",
        "[tasks.b.status, tasks.b.data.n]",
        ["failure", 1],
        2,
    ),
    "a loop that its bound ended": (
        f"{{name: l, type: loop, until: '{{{{ false }}}}', max_iterations: 2, {CONTINUE}, "
        f"fail_when: '{{{{ not data.completed }}}}', body: [{agent('inner')}]}}",
        "[tasks.l.status, tasks.l.data.rounds]",
        ["failure", 2],
        2,
    ),
    "a failure stays the failure that it is": (
        "{name: f, type: try, catch: [{error: Mine}], "
        "steps: [{name: x, type: block, fail_when: '{{ true }}', "
        "steps: [{name: y, type: fail, error: Mine, message: m}]}]}",
        "[tasks.x.error.type, tasks.f.status]",
        ["Mine", "success"],
        0,
    ),
    "a template that fails there fails the step": (
        asked(f"fail_when: '{{{{ data.none.at.all }}}}', {CONTINUE}"),
        "[tasks.one.error.type, tasks.one.data.n]",
        ["TemplateFailed", 1],
        1,
    ),
    "a catch takes it by its type": (
        "{name: t, type: try, catch: [{error: ResultRejected}], steps: ["
        + asked("fail_when: '{{ true }}'")
        + "]}",
        "tasks.t.data.caught.step",
        "one",
        1,
    ),
}


@pytest.mark.parametrize(("task", "template", "wanted", "calls"), ROWS.values(), ids=ROWS)
async def test_fail_when_reads(task: str, template: str, wanted: JsonValue, calls: int) -> None:
    plan = work(f'- {task}\n- {{name: end, type: set, values: {{seen: "{{{{ {template} }}}}"}}}}\n')
    first = await undisturbed(plan, {}, answer)
    again = await stopped_everywhere(plan, {}, answer)
    for result, world in (first, again):
        assert task_data(result)["end"] == {"seen": wanted}
        assert len(world.calls) == calls


async def test_result_of_what_must_not_happen_twice_is_rejected_and_not_repeated() -> None:
    function = "skill: CommandRunner.run_once, input: {command: deploy}"
    more = f"{function}, fail_when: '{{{{ true }}}}', retry: {{retries: 3}}, on_failure: continue"
    plan = work(f"""
- name: follow
  agent_type: generic_orchestrating
  persona_key: writer
  config: {{prompts: null, execution_plan: [{{name: deploy, {more}}}]}}
""")
    state, world = fresh(plan, {}), World(answer)
    await run(StoppingScope(plan, state, world, None))
    ends = [(entry.status, entry.because) for entry in state.trail if entry.step == "follow/deploy"]
    assert ends == [
        ("not_retried", "not retried: a call in it may have happened, and must not happen twice"),
        ("failure", "ResultRejected: `fail_when` of 'deploy' holds: true"),
    ]
    assert len(world.calls) == 1


SCHEMA = (
    "config: {output_schema: {type: object, properties: {items: {type: array}}, "
    "additionalProperties: false}}"
)


@pytest.mark.parametrize(
    ("task", "code", "words"),
    [
        (asked(f"fail_when: '{{{{ data.elements }}}}', {SCHEMA}"), "E210", "no 'elements' there"),
        (asked("fail_when: '{{ nothing }}'"), "E207", "there is no name 'nothing'"),
        (asked("fail_when: {task: two, status: failure}"), "E206", "unknown task 'two'"),
        (asked("fail_when: always"), "E109", "'always' is not a condition"),
        (asked("fail_if: '{{ true }}'"), "E101", "unknown key 'fail_if'"),
        (
            "{name: r, type: return, value: 1, fail_when: '{{ true }}'}",
            "E107",
            "`fail_when` of 'r' rejects nothing: a step of type 'return' has no result",
        ),
        (
            "{name: f, type: fail, message: m, fail_when: '{{ true }}'}",
            "E107",
            "`fail_when` of 'f' rejects nothing: a step of type 'fail' has no result",
        ),
    ],
)
def test_a_wrong_fail_when_is_a_problem_of_the_document(task: str, code: str, words: str) -> None:
    (problem,) = problems_of(document(f"- {task}"))
    assert problem.code == code
    assert words in problem.message


def test_data_and_seconds_are_names_of_fail_when_alone() -> None:
    problems = problems_of(document("- {name: s, type: set, values: {x: '{{ seconds }}'}}"))
    assert [problem.code for problem in problems] == ["E207"]
