"""A template chooses the persona of an agent step: once for each attempt, and only a listed one."""

import pytest
from pydantic import JsonValue

from coterie.activities.contracts import AgentRequest, FunctionRequest
from coterie.dsl.values import Json
from tests.support.compiling import plan_of
from tests.support.simulation.stopping import stopped_everywhere, undisturbed

DOCUMENT = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    red: {prompts: {user: "Red {{ input }}"}}
    blue: {prompts: {user: "Blue {{ input }}"}}
    red_plan:
      execution_plan:
        - {name: one, agent_type: generic_single_shot, persona_key: red, input: "{{ input }}"}
        - {name: turn, type: set, context_updates: {who: blue_plan}}
        - {name: two, agent_type: generic_single_shot, persona_key: red, input: "{{ input }}"}
    blue_plan:
      execution_plan: [{name: one, agent_type: generic_single_shot, persona_key: blue, input: 1}]
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
"""


def steps(text: str) -> str:
    return DOCUMENT + "".join(f"        {line}\n" for line in text.strip().splitlines())


LOOP = steps("""
- name: each
  type: loop
  iterate_on: "{{ context.items }}"
  loop_variable: item
  concurrency: 2
  body:
    - name: act
      agent_type: generic_single_shot
      persona_key: "{{ item }}"
      personas: [red, blue]
      input: "{{ item }}"
      on_failure: continue
""")


def prompt(request: AgentRequest | FunctionRequest) -> Json:
    assert isinstance(request, AgentRequest)
    assert request.persona is not None
    return {"asked": request.persona.prompts["user"]}


@pytest.mark.parametrize("concurrency", [1, 2])
async def test_each_round_of_a_loop_runs_the_persona_that_its_item_names(concurrency: int) -> None:
    context: Json = {"items": ["blue", "red", "blue"]}
    text = LOOP.replace("concurrency: 2", f"concurrency: {concurrency}")
    for result, _ in (
        await undisturbed(plan_of(text), context, prompt),
        await stopped_everywhere(plan_of(text), context, prompt),
    ):
        assert isinstance(result.output, dict)
        data = result.output["each"]
        assert isinstance(data, dict)
        assert data["results"] == [
            {"asked": "Blue {{ input }}"},
            {"asked": "Red {{ input }}"},
            {"asked": "Blue {{ input }}"},
        ]


UNLISTED = steps("""
- {name: act, agent_type: generic_single_shot, persona_key: "{{ context.who }}", personas: [red],
   input: 1, on_failure: continue, retry: {retries: 2}}
- {name: seen, type: set, context_updates: {error: "{{ tasks.act.error }}"}}
""")


@pytest.mark.parametrize(
    ("who", "shown"),
    [
        ("rde", "it does not list the persona 'rde'; personas: red; did you mean 'red'?"),
        ("blue", "it does not list the persona 'blue'; personas: red"),
        (["red"], "persona_key gives a list; personas: red"),
        (None, "persona_key gives null; personas: red"),
    ],
)
async def test_a_name_that_is_not_listed_is_a_failure_without_a_call(
    who: JsonValue, shown: str
) -> None:
    result, world = await undisturbed(plan_of(UNLISTED), {"who": who}, prompt)
    assert world.calls == []
    error = result.context["error"]
    assert isinstance(error, dict)
    assert error["type"] == "UnknownPersona"
    assert error["message"] == f"'act' cannot start: {shown}"


PLANS = steps("""
- {name: act, agent_type: generic_orchestrating, persona_key: "{{ context.who }}",
   personas: [red_plan, blue_plan], input: 1}
- {name: again, agent_type: generic_orchestrating, persona_key: "{{ context.who }}",
   personas: [red_plan, blue_plan], input: 2}
""")


async def test_a_plan_that_is_stopped_in_the_middle_keeps_its_persona() -> None:
    """Its own second step changes what the template would give."""
    once, calls = await undisturbed(plan_of(PLANS), {"who": "red_plan"}, prompt)
    assert len(calls.calls) == 3
    result, world = await stopped_everywhere(plan_of(PLANS), {"who": "red_plan"}, prompt)
    assert (result, world.calls) == (once, calls.calls)
