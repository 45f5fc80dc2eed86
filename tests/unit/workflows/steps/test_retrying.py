"""`retry` repeats what can end otherwise, and nothing else."""

import pytest

from coterie.activities.contracts import AgentRequest, FunctionRequest
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.retryability import NON_RETRYABLE
from coterie.dsl.model.steps import STEP_KINDS
from coterie.dsl.values import Json
from coterie.workflows.core.causes.step_causes import StepStated
from coterie.workflows.core.state import RunState
from coterie.workflows.core.views import TeamResult
from coterie.workflows.interpreter import run
from tests.support.compiling import plan_of, problems_of
from tests.support.one_team import agent, document, work
from tests.support.simulation.stopping import StoppingScope, World, fresh, stopped_everywhere

RETRY = "retry: {retries: 2}, on_failure: continue"


async def ran(plan: Plan, fails: str = "") -> tuple[TeamResult, World, RunState]:
    def answer(request: AgentRequest | FunctionRequest) -> Json:
        return {"fails": fails} if fails and "bad" in str(request) else {"n": 1}

    world, state = World(answer), fresh(plan, {"list": 7})
    return await run(StoppingScope(plan, state, world, None)), world, state


def retried(state: RunState) -> int:
    return sum(entry.status == "retried" for entry in state.trail)


AGENT = (
    "- {name: bad, agent_type: generic_single_shot, persona_key: writer, input: x, "
    f"requires_approval: before, {RETRY}}}\n"
)


@pytest.mark.parametrize("kind", sorted(NON_RETRYABLE))
async def test_failure_that_cannot_pass_is_not_retried_and_asks_nobody_again(kind: str) -> None:
    _, world, state = await ran(work(AGENT), fails=kind)
    assert (len(world.calls), retried(state), len(state.decisions)) == (1, 0, 1)


@pytest.mark.parametrize(
    "kind", ["ProviderUnavailable", "AnswerUnusable", "FunctionFailed", "Mine"]
)
async def test_failure_that_may_pass_is_retried(kind: str) -> None:
    _, world, state = await ran(work(AGENT), fails=kind)
    assert (len(world.calls), retried(state)) == (3, 2)


@pytest.mark.parametrize(
    "step",
    [
        f'- {{name: bad, type: set, values: {{x: "{{{{ context.none.at.all }}}}"}}, {RETRY}}}',
        f'- {{name: bad, type: wait, duration: "{{{{ context.list }}}} moons", {RETRY}}}',
        f'- {{name: bad, iterate_on: "{{{{ context.list }}}}", loop_variable: x, {RETRY}, '
        "body: [{name: n, type: set, values: {y: 1}}]}",
        f"- {{name: bad, iterate_on: [1], loop_variable: one, {RETRY}, "
        'body: [{name: s, type: set, values: {x: "{{ context.none.at.all }}"}}]}',
    ],
    ids=["set", "wait", "loop over no list", "loop without a call"],
)
async def test_step_whose_data_cannot_differ_is_not_retried(step: str) -> None:
    result, world, state = await ran(work(step))
    assert result.output == {}
    assert (world.calls, retried(state)) == ([], 0)


BLOCK = """
- name: block
  iterate_on: [1]
  loop_variable: one
  on_failure: continue
  retry: {retries: 2}
  body:
  - {name: ask, agent_type: generic_single_shot, persona_key: writer, input: x}
  - {name: use, type: set, values: {x: "{{ tasks.ask.data.missing }}"}}
"""


async def test_block_whose_calls_may_answer_otherwise_is_retried() -> None:
    _, world, state = await ran(work(BLOCK))
    assert (len(world.calls), retried(state)) == (3, 2)


async def test_block_that_was_resumed_after_its_call_is_retried_all_the_same() -> None:
    _, world = await stopped_everywhere(work(BLOCK), {}, lambda _: {"n": 1})
    assert len(world.calls) == 3


@pytest.mark.parametrize(("error", "retries"), [("ProviderUnavailable", 2), ("AgentRefused", 0)])
async def test_block_that_continues_after_a_call_is_retried_if_the_call_may_answer_next_time(
    error: str, retries: int
) -> None:
    ask = "ask_bad, on_failure: continue,"
    text = BLOCK.replace("ask,", ask).replace("tasks.ask", "tasks.ask_bad")
    _, world, state = await ran(work(text), fails=error)
    assert (len(world.calls), retried(state)) == (retries + 1, retries)


async def test_block_in_which_nothing_can_ever_pass_is_not_retried() -> None:
    refused = BLOCK.replace("ask,", "ask_bad,").replace("tasks.ask", "tasks.ask_bad")
    _, world, state = await ran(work(refused), fails="AgentRefused")
    assert (len(world.calls), retried(state)) == (1, 0)


@pytest.mark.parametrize(("kind", "named"), [("AgentRefused", True), ("Timeout", False)])
def test_retry_that_names_what_cannot_pass_is_a_problem(kind: str, named: bool) -> None:
    task = AGENT.replace("retries: 2", f"retries: 2, errors: [{kind}]")
    if not named:
        assert work(task)
        return
    with pytest.raises(InvalidDocument) as caught:
        work(task)
    [problem] = caught.value.problems
    assert (problem.code, problem.line) == ("E105", document(task).count("\n"))
    assert problem.path.endswith("tasks[0].retry.errors[0]")
    assert "'bad' would retry after 'AgentRefused'" in problem.message


BAD = "{name: bad, agent_type: generic_single_shot, persona_key: writer, input: x}"
AGREED = "{name: agreed, type: approval, prompt: Sure}"
UNFILLED = '{name: use, type: set, values: {x: "{{ context.none.at.all }}"}}'
REFUSED = "{name: no, type: fail, error: AgentRefused, message: no}"
AROUND = {
    "block": "type: block, steps: [STEPS]",
    "loop": "iterate_on: [1], loop_variable: one, body: [STEPS]",
    "concurrent loop": "iterate_on: [1], loop_variable: one, concurrency: 2, body: [STEPS]",
    "branch": 'branches: [{condition: "{{ 1 > 0 }}", steps: [STEPS]}]',
    "try": "type: try, steps: [STEPS], finally: [{name: last, type: set, values: {y: 1}}]",
    "all": "join: all, branches: {a: [STEPS], b: [{name: other, type: set, values: {y: 1}}]}",
    "any": f"join: any, branches: {{a: [STEPS], b: [{REFUSED}]}}",
    "fallback": f"join: fallback, branches: {{a: [{REFUSED}], b: [STEPS]}}",
    "best": f"join: best, branches: {{a: [STEPS], b: [{REFUSED}]}}",
    "task_graph": "type: task_graph, tasks: [{id: a}], task_variable: task, body: [STEPS]",
    "team": "team: inner",
}


TOOLS = "tools:\n  look: {skill: Discovery.collect}\n  pay: {skill: CommandRunner.run_once}\n"


def around(kind: str, *steps: str) -> Plan:
    """A step of the kind with `retry` around the steps."""
    step = AROUND[kind].replace("STEPS", ", ".join(steps))
    inner = "".join(f"  - {one}\n" for one in steps)
    task, team = f"- {{name: outer, {RETRY}, {step}}}\n", f"inner:\n  tasks:\n{inner}"
    return plan_of(TOOLS + document(task, team))


@pytest.mark.parametrize("kind", AROUND)
@pytest.mark.parametrize("error", ["AgentRefused", "FunctionRefused", "TemplateFailed"])
async def test_step_around_a_failure_that_cannot_pass_asks_nobody_again(
    kind: str, error: str
) -> None:
    _, world, state = await ran(around(kind, AGREED, BAD), fails=error)
    assert (len(world.calls), retried(state), len(state.decisions)) == (1, 0, 1)


@pytest.mark.parametrize("kind", AROUND)
async def test_step_around_a_failure_without_a_call_asks_nobody_again(kind: str) -> None:
    _, world, state = await ran(around(kind, AGREED, UNFILLED))
    assert (len(world.calls), retried(state), len(state.decisions)) == (0, 0, 1)


@pytest.mark.parametrize("kind", AROUND)
@pytest.mark.parametrize("error", ["ProviderUnavailable", "Mine"])
async def test_step_around_a_failure_that_may_pass_is_retried(kind: str, error: str) -> None:
    _, world, state = await ran(around(kind, BAD), fails=error)
    assert (len(world.calls), retried(state)) == (3, 2)


READ = "{name: ask, tool: look, arguments: {path: .}}"


@pytest.mark.parametrize("kind", AROUND)
@pytest.mark.parametrize(
    ("ask", "field"), [(agent("ask"), "at.all"), (READ, "files[0].path")], ids=["agent", "skill"]
)
async def test_step_around_a_call_whose_answer_may_differ_is_retried(
    ask: str, field: str, kind: str
) -> None:
    use = UNFILLED.replace("context.none.at.all", f"tasks.ask.data.{field}")
    _, world, state = await ran(around(kind, ask, use))
    assert (len(world.calls), retried(state)) == (3, 2)


async def test_call_of_another_branch_gives_a_step_no_other_data() -> None:
    plan = work(
        "- name: both\n"
        "  type: parallel\n"
        "  on_failure: continue\n"
        "  branches:\n"
        f"    a: [{{name: outer, retry: {{retries: 2}}, type: block, "
        f"steps: [{AGREED}, {UNFILLED}]}}]\n"
        f"    b: [{agent('ask')}]\n"
    )
    _, _, state = await ran(plan)
    assert (retried(state), len(state.decisions)) == (0, 1)


GRAPH = (
    "- {{name: g, on_failure: continue, task_retries: 2, type: task_graph, tasks: [{{id: a}}], "
    "task_variable: task, body: [{}]}}"
)


@pytest.mark.parametrize(
    ("body", "retries"),
    [
        (f"{AGREED}, {UNFILLED}", 0),
        (f"{AGREED}, {UNFILLED.replace('context.none', 'graph.error')}", 2),
        (f"{agent('ask')}, {AGREED}, {UNFILLED}", 2),
    ],
    ids=["the same data", "reads the last error", "another answer"],
)
async def test_task_of_a_graph_is_retried_only_where_its_data_can_differ(
    body: str, retries: int
) -> None:
    _, _, state = await ran(work(GRAPH.format(body)))
    assert (retried(state), len(state.decisions)) == (retries, retries + 1)


PAY = "{name: pay, tool: pay, arguments: {command: deploy}}"
BROKEN = "{name: broken, type: fail, error: Mine, message: no}"
LEAVES = ("agent", "skill", "tool", "set", "approval", "wait", "reply", "return", "fail")


def test_the_table_has_every_kind_of_step_that_holds_others() -> None:
    steps = [around(kind, PAY).teams["work"].steps[0] for kind in AROUND]
    assert {step.kind for step in steps}.union(LEAVES) == {*STEP_KINDS}


@pytest.mark.parametrize("kind", AROUND)
@pytest.mark.parametrize("error", ["", "OutcomeUnknown", "WorkerLost", "FunctionFailed"])
async def test_step_around_a_call_that_may_have_happened_is_not_retried(
    kind: str, error: str
) -> None:
    pay = PAY.replace("{name", "{on_failure: continue, name") if error else PAY
    pay = pay.replace("deploy", "bad")
    _, world, state = await ran(around(kind, pay, BROKEN), fails=error)
    happened = error != "FunctionFailed"
    assert (len(world.calls), retried(state)) == ((1, 0) if happened else (3, 2))
    causes = [entry.cause for entry in state.trail if entry.status == "not_retried"]
    assert causes == [StepStated("has_acted")] * happened


@pytest.mark.parametrize("tool", ["whole_team", "whole_agent"])
@pytest.mark.parametrize("acts", [True, False])
async def test_agent_or_team_as_tool_is_not_retried_after_an_effect(tool: str, acts: bool) -> None:
    call = PAY if acts else READ
    steps = f"[{call}, {BROKEN}]"
    terms = "on_error: retry, retries: 2, description: x, input_schema: {type: object}"
    tools = f"  whole_team: {{team: inner, {terms}}}\n  whole_agent: {{agent: planner, {terms}}}\n"
    planner = f"    planner: {{execution_plan: {steps}}}\n"
    task = f"- {{name: outer, tool: {tool}, arguments: {{}}, on_failure: continue}}\n"
    text = document(task, f"inner:\n  tasks: {steps}\n").replace(
        "orchestration:", f"{planner}orchestration:"
    )
    _, world, state = await ran(plan_of(TOOLS + tools + text))
    assert (len(world.calls), retried(state)) == ((1, 0) if acts else (3, 2))


async def test_task_of_a_graph_is_not_attempted_again_after_an_effect() -> None:
    graph = (
        "- {name: outer, on_failure: continue, type: task_graph, tasks: [{id: a}], "
        f"task_variable: task, task_retries: 2, body: [{PAY}, {BROKEN}]}}\n"
    )
    _, world, state = await ran(plan_of(TOOLS + document(graph)))
    assert (len(world.calls), retried(state)) == (1, 0)


@pytest.mark.parametrize("acts", [True, False])
async def test_result_that_is_rejected_is_asked_for_again_unless_its_call_happened(
    acts: bool,
) -> None:
    call = PAY if acts else READ
    task = call.replace("{name", f"{{{RETRY}, fail_when: '{{{{ 1 > 0 }}}}', name")
    _, world, state = await ran(plan_of(TOOLS + document(f"- {task}\n")))
    assert (len(world.calls), retried(state)) == ((1, 0) if acts else (3, 2))


@pytest.mark.parametrize("kind", [kind for kind in AROUND if kind != "team"])
def test_retry_around_a_call_that_must_not_happen_twice_is_a_warning(kind: str) -> None:
    for call, warned in ((PAY, True), (READ, False)):
        step = AROUND[kind].replace("STEPS", call)
        text = TOOLS + document(f"- {{name: outer, {RETRY}, {step}}}\n")
        found = [one for one in problems_of(text) if one.code == "W528"]
        assert [one.path.endswith("tasks[0].retry") for one in found] == [True] * warned
