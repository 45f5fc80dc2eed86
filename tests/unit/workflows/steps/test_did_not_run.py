"""What did not run reads as skipped, wherever it stands and whatever an earlier round did."""

from textwrap import indent

import pytest
from pydantic import JsonValue

from coterie.activities.contracts import AgentRequest, FunctionRequest
from coterie.dsl.model.plan import Plan, Routing
from coterie.dsl.values import Json
from tests.support.one_team import agent, work
from tests.support.runs import task_data
from tests.support.simulation.stopping import stopped_everywhere, undisturbed

LOOP = """
- name: rounds
  iterate_on: [1, 2]
  loop_variable: n
  body:
"""


def answer(request: AgentRequest | FunctionRequest) -> Json:
    assert isinstance(request, AgentRequest)
    return {"fails": "Broken"} if request.task == "fails" else {"n": 1}


async def asked(plan: Plan) -> list[JsonValue]:
    """What the agent `look` is asked, the same wherever the run is stopped."""
    seen: list[JsonValue] = []

    def looking(request: AgentRequest | FunctionRequest) -> Json:
        assert isinstance(request, AgentRequest)
        if request.task.startswith("look"):
            seen.append(request.inputs["input"])
        return answer(request)

    await undisturbed(plan, {}, looking)
    first, seen = seen, []
    await stopped_everywhere(plan, {}, looking)
    assert seen == first
    return first


LOOK = agent("look", "{{ n }} {{ tasks.inner.status }} {{ tasks.other.status }}")
INNER, OTHER = agent("inner"), agent("other")
BODIES = {
    "a way of a branch": f"""
- name: way
  type: branch
  branches: [{{condition: "{{{{ n == 1 }}}}", steps: [{INNER}]}}]
  otherwise: [{OTHER}]
""",
    "what a skipped step holds": f"""
- {{name: first, iterate_on: [1], loop_variable: x, when: "{{{{ n == 1 }}}}", body: [{INNER}]}}
- {{name: second, iterate_on: [1], loop_variable: x, when: "{{{{ n == 2 }}}}", body: [{OTHER}]}}
""",
    "a loop without a round": f"""
- {{name: first, iterate_on: "{{{{ [1][n - 1:] }}}}", loop_variable: x, body: [{INNER}]}}
- {{name: second, iterate_on: "{{{{ [1][2 - n:] }}}}", loop_variable: x, body: [{OTHER}]}}
""",
    "a clause that catches": f"""
- name: careful
  type: try
  steps: [{{name: bad, type: fail, error: "E1", message: m, when: "{{{{ n == 1 }}}}"}},
          {{name: worse, type: fail, error: "E2", message: m}}]
  catch:
    - {{error: E1, steps: [{INNER}]}}
    - {{error: E2, steps: [{OTHER}]}}
""",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
async def test_step_that_did_not_run_in_this_round_reads_as_skipped(body: str) -> None:
    looking = f"{LOOP}{indent(body, '    ')}    - {LOOK}\n"
    assert await asked(work(looking)) == ["1 success skipped", "2 skipped success"]


ALL = "{{ tasks.a.status }} {{ tasks.b.status }} {{ tasks.c.status }}"
A, B, C = (f"[{agent(name)}, {agent(f'look_{name}', ALL)}]" for name in "abc")
CHOICES = {
    "a branch": f"""
- name: way
  type: branch
  branches:
    - {{condition: "{{{{ n == 1 }}}}", steps: {A}}}
    - {{condition: "{{{{ n == 2 }}}}", steps: {B}}}
  otherwise: {C}
""",
    "a try": f"""
- name: careful
  type: try
  steps:
    - {{name: e1, type: fail, error: E1, message: m, when: "{{{{ n == 1 }}}}"}}
    - {{name: e2, type: fail, error: E2, message: m, when: "{{{{ n == 2 }}}}"}}
    - {{name: e3, type: fail, error: E3, message: m}}
  catch: [{{error: E1, steps: {A}}}, {{error: E2, steps: {B}}}, {{error: E3, steps: {C}}}]
""",
}


@pytest.mark.parametrize("body", CHOICES.values(), ids=CHOICES)
async def test_chosen_steps_read_those_of_the_other_choices_as_skipped(body: str) -> None:
    rounds = LOOP.replace("[1, 2]", "[1, 2, 3, 1]")
    first = "success skipped skipped"
    assert await asked(work(f"{rounds}{indent(body, '    ')}")) == [
        first,
        "skipped success skipped",
        "skipped skipped success",
        first,
    ]


async def test_steps_after_a_failed_one_read_as_skipped_with_their_nested_steps() -> None:
    body = f"""
- name: careful
  type: try
  steps:
    - {{name: bad, type: fail, error: Bad, message: m, when: "{{{{ n == 2 }}}}"}}
    - {{name: each, iterate_on: [1], loop_variable: x, body: [{INNER}]}}
  catch: [{{error: Bad, steps: [{OTHER}]}}]
"""
    looking = f"{LOOP}{indent(body, '    ')}    - {LOOK}\n"
    assert await asked(work(looking)) == ["1 success skipped", "2 skipped success"]


async def test_each_way_of_a_parallel_step_tells_its_own_steps_alone() -> None:
    """A way begins with a copy of what was before; its copy of another way's steps is old."""
    body = f"""
- name: both
  type: parallel
  branches:
    left: [{INNER.replace("}", ', when: "{{ n == 1 }}"}', 1)}]
    right: [{OTHER.replace("}", ', when: "{{ n == 2 }}"}', 1)}]
"""
    looking = f"{LOOP}{indent(body, '    ')}    - {LOOK}\n"
    assert await asked(work(looking)) == ["1 success skipped", "2 skipped success"]


LEFT_EARLY = {
    "a loop that has no list": f"""
- name: way
  iterate_on: "{{{{ [1] if n == 1 else 2 }}}}"
  loop_variable: x
  on_failure: continue
  body: [{INNER}]
""",
    "a branch whose condition fails": f"""
- name: way
  type: branch
  branches: [{{condition: "{{{{ n == 1 or nothing.there }}}}", steps: [{INNER}]}}]
  on_failure: continue
- {{name: none, type: set, values: {{nothing: 1}}}}
""",
    "a loop with concurrent rounds": f"""
- {{name: way, iterate_on: [1], loop_variable: x, concurrency: 2, body: [{agent("apart")}]}}
- {{name: way2, iterate_on: [1], loop_variable: x, when: "{{{{ n == 1 }}}}", body: [{INNER}]}}
""",
}


@pytest.mark.parametrize("body", LEFT_EARLY.values(), ids=LEFT_EARLY)
async def test_step_that_its_block_never_came_to_reads_as_skipped(body: str) -> None:
    look = agent("look", "{{ n }} {{ tasks.inner.status }}")
    looking = f"{LOOP}{indent(body, '    ')}    - {look}\n"
    assert await asked(work(looking)) == ["1 success", "2 skipped"]


async def test_step_of_a_loop_with_concurrent_rounds_reads_as_skipped_outside() -> None:
    look = agent("look", "{{ tasks.inner.status }}")
    each = f"iterate_on: [1, 2], loop_variable: x, concurrency: 2, body: [{INNER}]"
    assert await asked(work(f"- {{name: each, {each}}}\n- {look}\n")) == ["skipped"]


async def test_team_left_by_return_has_an_outcome_of_this_round_for_every_step() -> None:
    """The steps after the one that returns, nested ones too, and those of an earlier round."""
    plan = work(
        f"""
- name: rounds
  iterate_on: [1, 2]
  loop_variable: n
  body:
    - {{name: enough, type: return, value: 1, when: "{{{{ n == 2 }}}}"}}
    - {INNER}
- {{name: later, iterate_on: [1], loop_variable: x, body: [{OTHER}]}}
""",
        """
look:
  tasks:
    - name: seen
      type: set
      values: {all: "{{ teams.work.tasks.inner.status }} {{ teams.work.tasks.other.status }}"}
""",
    )
    team = plan.teams["work"].model_copy(
        update={"routing": Routing(default="look"), "stop_on_failure": True}
    )
    routed = plan.model_copy(update={"teams": {**plan.teams, "work": team}})
    result, _ = await undisturbed(routed, {}, answer)
    assert task_data(result)["seen"] == {"all": "skipped skipped"}


async def test_outcome_of_an_earlier_round_stays_until_its_step_runs_again() -> None:
    body = "{{ tasks.inner.data.n if n > 1 else 0 }}"
    looking = f"{LOOP}    - {agent('look', body)}\n    - {INNER}\n"
    assert await asked(work(looking)) == [0, 1]


async def test_while_sees_the_loop_variable() -> None:
    plan = work(f"""
- name: rounds
  type: loop
  while: "{{{{ n < 3 }}}}"
  loop_variable: n
  max_iterations: 9
  body: [{agent("look", "{{ n }}")}]
""")
    assert await asked(plan) == [0, 1, 2]
    over_list = work(f"""
- name: rounds
  iterate_on: [5, 6, 7]
  while: "{{{{ n < 7 }}}}"
  loop_variable: n
  body: [{agent("look", "{{ n }}")}]
""")
    assert await asked(over_list) == [5, 6]
