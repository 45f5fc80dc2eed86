"""Whatever a run is in the middle of, it goes on there: the same result, no call repeated.

Each case is stopped at each of its checkpoints in turn, and then at every second one.
"""

from textwrap import indent

import pytest
from pydantic import JsonValue

from coterie.activities.contracts import AgentRequest, FunctionRequest
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.workflows.core.progress.step_progress import StepProgress
from coterie.workflows.core.results import RunFailed
from coterie.workflows.interpreter import run
from tests.support.compiling import plan_of
from tests.support.runs import task_data
from tests.support.simulation.stopping import (
    StoppingScope,
    World,
    fresh,
    stopped_at,
    stopped_everywhere,
    undisturbed,
)

HEAD = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: {prompts: {user: "Write {{ input }}."}}
"""
TEAM = """
orchestration:
  entry_team: work
  max_recursion_depth: 20
  teams:
    work:
      tasks:
        - name: code
          agent_type: generic_orchestrating
          persona_key: coder
          input: "{{ context }}"
        - {name: last, agent_type: generic_single_shot, persona_key: writer, input: x}
      routing:
        rules:
          - condition: "{{ run.visit < 2 }}"
            next_team: work
            context_updates: {seen: "{{ tasks.code.data }}"}
        default: null
    side: {tasks: [{name: aside, agent_type: generic_single_shot, persona_key: writer, input: y}]}
"""


def coder(steps: str) -> Plan:
    """A plan inside a team that is visited twice."""
    return plan_of(f"{HEAD}    coder:\n      execution_plan:\n{indent(steps, ' ' * 8)}{TEAM}")


def team(tasks: str, more: str = "") -> Plan:
    head = "orchestration:\n  entry_team: work\n  teams:\n    work:\n      tasks:\n"
    return plan_of(f"{HEAD}{head}{indent(tasks, ' ' * 8)}{indent(more, ' ' * 4)}")


CALL = "{name: %s, agent_type: generic_single_shot, persona_key: writer, input: %s}"


def call(name: str, given: str = "x") -> str:
    return CALL % (name, given)


CASES: dict[str, Plan] = {
    "loops in loops": coder(f"""
- name: outer
  iterate_on: [a, b]
  loop_variable: letter
  output_variable: out
  body:
    - {call("before", '"{{ letter }}"')}
    - name: inner
      iterate_on: [1, 2]
      loop_variable: number
      body: [{call("deep", '"{{ letter }}{{ number }}"')}]
    - {call("after", '"{{ letter }}"')}
"""),
    "a condition that its own steps make false": coder(f"""
- {{name: begin, type: set, values: {{n: 0}}}}
- name: once
  iterate_on: [1, 2, 3]
  loop_variable: x
  when: "{{{{ n == 0 }}}}"
  body:
    - {{name: count, type: set, values: {{n: "{{{{ n + 1 }}}}"}}}}
    - {call("ask", '"{{ n }}"')}
"""),
    "while, until and break": coder(f"""
- {{name: begin, type: set, values: {{n: 0}}}}
- name: again
  type: loop
  while: "{{{{ n < 3 }}}}"
  max_iterations: 9
  body: [{call("a")}, {{name: up, type: set, values: {{n: "{{{{ n + 1 }}}}"}}}}]
- name: more
  type: loop
  until: "{{{{ n > 4 }}}}"
  break_when: "{{{{ n == 100 }}}}"
  max_iterations: 9
  body: [{{name: on, type: set, values: {{n: "{{{{ n + 1 }}}}"}}}}, {call("b")}]
"""),
    "a branch that changes what it was chosen by": coder(f"""
- {{name: begin, type: set, values: {{n: 0}}}}
- name: way
  type: branch
  branches:
    - condition: "{{{{ n == 0 }}}}"
      steps: [{{name: up, type: set, values: {{n: 1}}}}, {call("a")}, {call("b")}]
  otherwise: [{call("wrong")}]
"""),
    "try, catch, finally": coder(f"""
- name: careful
  type: try
  steps: [{call("a")}, {{name: bad, type: fail, error: Bad, message: m}}, {call("never")}]
  catch: [{{error: Bad, steps: [{call("b")}, {call("c")}]}}]
  finally: [{call("d")}, {call("e")}]
- name: calm
  type: try
  steps: [{call("f")}]
  finally: [{call("g")}, {call("h")}]
"""),
    "a return through finally": coder(f"""
- name: careful
  type: try
  steps: [{call("a")}, {{name: out, type: return, value: "{{{{ tasks.a.data }}}}"}}]
  finally: [{call("b")}, {call("c")}]
- {call("never")}
"""),
    "a step that is tried again": coder(f"""
- name: block
  iterate_on: [1, 2]
  loop_variable: x
  on_failure: continue
  retry: {{retries: 2, interval: 5s}}
  body: [{call("a")}, {{name: bad, type: fail, error: Bad, message: m, when: "{{{{ x == 2 }}}}"}}]
"""),
    "a template that fails in the middle": coder(
        f"""
- name: loop
  iterate_on: [1, 2]
  loop_variable: x
  break_when: "{{{{ nothing > 1 }}}}"
  on_failure: continue
  body: [{call("a")}]
- {{name: nothing, type: set, values: {{nothing: 1}}}}
""".replace("name: nothing", "name: set_it")
    ),
    "consent before and after": plan_of(f"""{HEAD}    small:
      execution_plan: [{call("a")}, {call("b")}]
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - name: code
          agent_type: generic_orchestrating
          persona_key: small
          requires_approval: before
        - {{name: accept, agent_type: generic_single_shot, persona_key: writer, input: x,
            requires_approval: after}}
        - {{name: sign, type: approval, prompt: "Go on?", deadline: 3d, on_timeout: fail}}
        - {call("last")}
"""),
    "a team as a step": coder(f"""
- {call("a")}
- {{name: sub, team: side}}
- name: each
  iterate_on: [1, 2]
  loop_variable: x
  body: [{{name: again, team: side, input: {{x: "{{{{ x }}}}"}}}}, {call("b")}]
"""),
    "waits": coder(f"""
- {call("a")}
- {{name: rest, type: wait, duration: 2h}}
- {call("b")}
"""),
    "ways at once": coder(f"""
- {call("a")}
- name: both
  type: parallel
  branches:
    left: [{call("l")}, {{name: lx, type: set, values: {{x: 1}}}}]
    right: [{call("r")}]
- {call("b", '"{{ x }}"')}
"""),
    "a block that runs out of time": coder(f"""
- name: block
  type: branch
  timeout: 1h
  branches: [{{condition: all_success, steps: [{call("a")}, {call("b")}]}}]
- {call("c")}
"""),
    "failed steps that wait for a person": coder(f"""
- name: again
  iterate_on: [1, 2]
  loop_variable: x
  on_failure: ask
  body: [{call("a")}, {call("flaky")}]
- {{name: hopeless, agent_type: generic_single_shot, persona_key: writer, on_failure: ask,
    output_variable: made, retry: {{retries: 1, interval: 5s}}}}
- {call("b", '"{{ made.n }}"')}
"""),
    "names that begin alike": coder(f"""
- name: part
  iterate_on: [1]
  loop_variable: x
  body:
    - name: part_two
      iterate_on: [1, 2]
      loop_variable: y
      body: [{call("part_two_a", '"{{ y }}"')}]
    - {call("part_three")}
"""),
}


def answer(request: AgentRequest | FunctionRequest) -> Json:
    assert isinstance(request, AgentRequest)
    if request.task == "hopeless" or (request.task == "flaky" and request.visit == 2):
        return {"fails": "ProviderUnavailable"}
    return {"told": request.inputs.get("input"), "by": request.task, "visit": request.visit}


CONTEXT: dict[str, JsonValue] = {"topic": "tea"}


@pytest.mark.parametrize("case", CASES)
async def test_a_run_that_is_stopped_anywhere_goes_on_there(case: str) -> None:
    plan = CASES[case]
    expected, once = await undisturbed(plan, CONTEXT, answer)
    number = 0
    while (resumed := await stopped_at(plan, CONTEXT, answer, number)) is not None:
        result, world = resumed
        assert world.calls == once.calls, f"stopped at checkpoint {number}"
        assert result == expected, f"stopped at checkpoint {number}"
        number += 1
    assert number >= 5, "a case without places to stop at proves nothing"
    result, world = await stopped_everywhere(plan, CONTEXT, answer)
    assert (result, world.calls) == (expected, once.calls)


async def test_a_run_that_fails_fails_alike_wherever_it_was_stopped() -> None:
    plan = team(f"- {call('a')}\n- {{name: bad, type: fail, error: Bad, message: m}}\n")
    for number in range(3):
        with pytest.raises(RunFailed, match="task 'bad' of team 'work' failed: Bad: m") as failed:
            await stopped_at(plan, CONTEXT, answer, number)
        assert task_data(failed.value.result)["a"] == {"told": "x", "by": "a", "visit": 1}


@pytest.mark.parametrize("case", CASES)
async def test_nothing_is_left_of_what_has_ended(case: str) -> None:
    """A run's memory holds what goes on, and not what went on."""
    state = fresh(CASES[case], CONTEXT)
    await run(StoppingScope(CASES[case], state, World(answer), None))
    assert (state.frames, state.progress, list(state.tracks)) == ({}, StepProgress(), ["main"])
    assert (state.doing, state.pending) == ({}, {})
