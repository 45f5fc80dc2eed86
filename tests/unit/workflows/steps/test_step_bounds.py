"""Bounds that a template gives: rendered once, and kept when the run is stopped and goes on."""

import pytest

from coterie.activities.contracts import AgentRequest, FunctionRequest
from coterie.dsl.errors import InvalidPlan
from coterie.dsl.model.plan import MaxVisits, Plan
from coterie.dsl.values import Json
from coterie.workflows.core.results import RunFailed
from tests.support.compiling import plan_of
from tests.support.one_team import work
from tests.support.simulation.stopping import stopped_everywhere, undisturbed

LOOP = """
- {name: start, type: set, values: {most: 3}}
- name: l
  type: loop
  %s
  max_iterations: {value: "{{ most }}", maximum: 9}
  body: [{name: b, type: set, values: {most: 1}}]
"""


@pytest.mark.parametrize(
    "over",
    [
        "while: '{{ true }}'",
        "{iterate_on: [1, 2, 3, 4], loop_variable: i",
        "{iterate_on: [1, 2, 3, 4], loop_variable: i, concurrency: 2",
    ],
    ids=["while", "list", "concurrent"],
)
async def test_the_bound_is_rendered_once_when_the_loop_starts(over: str) -> None:
    lines = over.lstrip("{").replace("], ", "]\n  ").replace("i, ", "i\n  ")
    plan = work(LOOP % lines)
    for result, _ in (
        await undisturbed(plan, {}, lambda _: {}),
        await stopped_everywhere(plan, {}, lambda _: {}),
    ):
        assert isinstance(result.output, dict)
        data = result.output["l"]
        assert isinstance(data, dict)
        assert (data["rounds"], data["completed"]) == (3, False)


GRAPH = """
- {name: start, type: set, values: {most: 3}}
- name: g
  type: task_graph
  tasks: [{id: a}, {id: b}, {id: c}, {id: d}]
  task_variable: task
  max_tasks: {value: "{{ most + 1 }}", maximum: 9}
  max_iterations: {value: "{{ most }}", maximum: 9}
  concurrency: {value: "{{ most }}", maximum: 9}
  body: [{name: b, type: set, values: {most: 1}}]
"""


async def test_the_bounds_of_a_graph_are_rendered_once_when_it_starts() -> None:
    for result, _ in (
        await undisturbed(work(GRAPH), {}, lambda _: {}),
        await stopped_everywhere(work(GRAPH), {}, lambda _: {}),
    ):
        assert isinstance(result.output, dict)
        data = result.output["g"]
        assert isinstance(data, dict)
        assert data["iterations"] == 3


RETRIED = """
- {name: start, type: set, values: {most: 2}}
- name: again
  type: block
  retry: {retries: {value: "{{ most }}", maximum: 9}, errors: [ProviderUnavailable]}
  on_failure: continue
  steps:
    - {name: more, type: set, values: {most: 9}}
    - {name: ask, agent_type: generic_single_shot, persona_key: writer, input: x}
"""


async def test_the_attempts_are_rendered_once_before_the_first_one() -> None:
    def fail(_: AgentRequest | FunctionRequest) -> Json:
        return {"fails": "ProviderUnavailable"}

    for _, world in (
        await undisturbed(work(RETRIED), {}, fail),
        await stopped_everywhere(work(RETRIED), {}, fail),
    ):
        assert len(world.calls) == 3


FAILING = """
- {name: wrong, %s, on_failure: continue}
- {name: after, type: set, values: {found: "{{ tasks.wrong.error.type }}: {{ tasks.wrong.error.message }}"}}
"""  # noqa: E501


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("type: block, timeout: BOUND, steps: [{name: s, type: set, values: {x: 1}}]", "timeout"),
        ("type: set, values: {x: 1}, retry: {retries: BOUND}", "retry.retries"),
        ("type: wait, signal: go, deadline: BOUND", "deadline"),
        ("type: approval, prompt: Well?, deadline: BOUND", "deadline"),
        (
            "agent_type: generic_single_shot, persona_key: writer, "
            "requires_approval: {deadline: BOUND}",
            "requires_approval.deadline",
        ),
        (
            "iterate_on: [1], loop_variable: i, concurrency: BOUND, "
            "body: [{name: s, type: set, values: {x: 1}}]",
            "concurrency",
        ),
        (
            "type: task_graph, tasks: [{id: a}], task_variable: t, task_retries: BOUND, "
            "body: [{name: s, type: set, values: {x: 1}}]",
            "task_retries",
        ),
    ],
)
async def test_a_value_above_the_maximum_fails_the_step_before_it_acts(
    step: str, message: str
) -> None:
    for given, error in (("99", "InvalidBound"), ("'x'", "InvalidBound"), ("no", "TemplateFailed")):
        bound = f'{{value: "{{{{ {given} }}}}", maximum: 9}}'
        if given == "no":
            bound = '{value: "{{ context.n.o }}", maximum: 9}'
        plan = work(FAILING % step.replace("BOUND", bound))
        result, world = await undisturbed(plan, {"n": 1}, lambda _: {})
        assert isinstance(result.output, dict)
        (found,) = (one for one in result.output.values() if isinstance(one, dict))
        assert str(found["found"]).startswith(f"{error}: ")
        assert error == "TemplateFailed" or f"{message} of 'wrong' gives" in str(found["found"])
        assert world.calls == []


def endless(plan: Plan, **changes: object) -> Plan:
    team = plan.teams["work"]
    steps = (team.steps[0], team.steps[1].model_copy(update=changes))
    return plan.model_copy(update={"teams": {"work": team.model_copy(update={"steps": steps})}})


@pytest.mark.parametrize("key", ["max_iterations", "timeout", "concurrency"])
async def test_a_plan_with_a_bound_without_a_maximum_is_refused_at_its_start(key: str) -> None:
    plan = endless(work(LOOP % "while: '{{ true }}'"), **{key: "{{ most }}"})
    with pytest.raises(InvalidPlan, match=f"`{key}` of 'l' has no maximum"):
        await undisturbed(plan, {}, lambda _: {})


VISITS = """
orchestration:
  entry_team: question
  context: {most: {type: integer, default: 2, maximum: 5}, seen: {type: integer, default: 0}}
  teams:
    question:
      tasks: [{name: s, type: set, values: {x: 1}}]
      routing: {default: router}
    router:
      max_visits: {per: question, limit: "{{ context.most }}", then: answer}
      tasks: [{name: decide, type: set, values: {x: 1}}]
      routing: {default: router, context_updates: {seen: {increment: 1}}}
    answer:
      tasks: [{name: why, type: set, values: {x: 1}}]
      routing: {default: null}
  output: "{{ context.seen }}"
"""


@pytest.mark.parametrize("most", [1, 2, 5])
async def test_a_template_limits_the_visits_of_a_team(most: int) -> None:
    plan = plan_of(VISITS)
    for result, _ in (
        await undisturbed(plan, {"most": most}, lambda _: {}),
        await stopped_everywhere(plan, {"most": most}, lambda _: {}),
    ):
        assert result.output == most


async def test_a_limit_of_visits_that_is_no_bound_fails_the_run_by_name() -> None:
    with pytest.raises(RunFailed) as failed:
        await undisturbed(plan_of(VISITS), {"most": 0}, lambda _: {})
    assert type(failed.value.__cause__).__name__ == "InvalidBound"


async def test_a_limit_of_visits_without_a_maximum_is_refused_at_the_start() -> None:
    plan = plan_of(VISITS)
    limit = MaxVisits(per="question", limit="{{ context.most }}", then="answer")
    router = plan.teams["router"].model_copy(update={"max_visits": limit})
    changed = plan.model_copy(update={"teams": {**plan.teams, "router": router}})
    with pytest.raises(InvalidPlan, match="`max_visits` of the team 'router' has no maximum"):
        await undisturbed(changed, {}, lambda _: {})
