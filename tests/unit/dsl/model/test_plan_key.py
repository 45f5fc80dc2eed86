"""The keys of personas in a plan: one task has one, and no other task has the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.plan_key import PlanKey, can_be_persona
from coterie.dsl.model.steps import PersonaStep
from tests.support.compiling import CAPABILITIES, plan_of, problems_of

_TWO = """
llm_config:
  default_provider: scripted
  default_model: none
  personas:
    a: {prompts: {user: Go.}}
    coder:
      prompts: {}
      execution_plan:
        - {name: write, agent_type: generic_single_shot, persona_key: a, config: {model: two}}
orchestration:
  entry_team: coder
  teams:
    coder:
      tasks:
        - {name: write, agent_type: generic_single_shot, persona_key: a, config: {model: one}}
        - {name: plan, agent_type: generic_orchestrating, persona_key: coder}
"""

_DOTS = """
llm_config:
  default_provider: scripted
  default_model: none
  personas: {a: {prompts: {user: Go.}}}
orchestration:
  entry_team: t
  teams:
    t:
      tasks:
        - {name: x.y, agent_type: generic_single_shot, persona_key: a, config: {model: one}}
      routing: {default: t.x}
    t.x:
      tasks:
        - {name: y, agent_type: generic_single_shot, persona_key: a, config: {model: two}}
"""

_NAMES = st.text("ab./%@", min_size=1, max_size=5)
_PERSONAS = _NAMES.filter(can_be_persona)
_STEPS = _NAMES.filter(lambda name: "/" not in name)
_TASKS = st.tuples(st.just("team"), _NAMES, _PERSONAS, _STEPS)
_PLAN_STEPS = st.tuples(st.just("plan"), st.one_of(_TASKS, _PERSONAS), _PERSONAS, _STEPS)
Place = tuple[str, "str | Place", str, str]


def test_a_task_and_a_step_of_a_plan_keep_their_own_models() -> None:
    plan = plan_of(_TWO)
    steps = (*plan.teams["coder"].steps[:1], *(plan.personas["coder"].execution_plan or ()))
    assert [model_of(plan, step) for step in steps] == ["one", "two"]


def test_dots_in_names_mix_up_no_models() -> None:
    plan = plan_of(_DOTS)
    found = [model_of(plan, team.steps[0]) for team in plan.teams.values()]
    assert found == ["one", "two"]


@pytest.mark.parametrize("own_first", [True, False])
def test_an_agent_that_ignores_a_plan_leaves_it_to_the_one_that_follows_it(own_first: bool) -> None:
    plan = _TWO.strip().splitlines()[-1]
    own = plan.replace("name: plan", "name: own").replace(
        "generic_orchestrating", "mine, input: {}"
    )
    text = _TWO.replace(plan, f"{own}\n{plan}" if own_first else f"{plan}\n{own}")
    types = (*CAPABILITIES.agent_types, "mine")
    capabilities = CAPABILITIES.model_copy(update={"agent_types": types})
    compiled = compile_sources([SourceText("1.yml", text)], capabilities, name="test").plan
    steps = compiled.personas["coder"].execution_plan or ()
    assert [model_of(compiled, step) for step in steps] == ["two"]


def model_of(plan: Plan, step: object) -> str:
    assert isinstance(step, PersonaStep)
    return plan.personas[step.persona_key].model


@given(st.one_of(_TASKS, _PLAN_STEPS), st.one_of(_TASKS, _PLAN_STEPS))
def test_two_places_never_share_a_key(one: Place, other: Place) -> None:
    assert (key_of(one) == key_of(other)) is (one == other)
    assert key_of(one).persona == one[2]


def key_of(place: Place) -> PlanKey:
    kind, above, persona, step = place
    if kind == "team":
        assert isinstance(above, str)
        return PlanKey.of_task(above, persona, step)
    plan = above if isinstance(above, str) else key_of(above)
    return PlanKey.of_plan_step(plan, persona, step)


@pytest.mark.parametrize(
    ("key", "persona", "task"),
    [("a", "a", ""), ("a@t.x", "a", "t.x"), ("a@coder@t.x.write", "a", "coder@t.x.write")],
)
def test_the_keys_of_older_plans_remain_readable(key: str, persona: str, task: str) -> None:
    assert (PlanKey(key).persona, PlanKey(key).task) == (persona, task)


def test_a_task_has_the_key_that_plans_had_before() -> None:
    assert PlanKey.of_task("draft", "writer", "write.again") == "writer@draft.write.again"


def test_a_persona_with_the_mark_in_its_name_is_refused() -> None:
    text = _DOTS.replace("personas: {a:", "personas: {a@b: {prompts: {user: Go.}}, a:")
    (problem,) = problems_of(text)
    assert (problem.code, problem.path) == ("E105", "llm_config.personas.a@b")
    assert "a_b" in problem.fix
