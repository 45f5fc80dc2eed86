"""A template chooses the persona of an agent step: what is checked and counted before a run."""

import pytest

from coterie.dsl.analysis.findings import analysed, with_needs
from coterie.dsl.analysis.worst_case import worst_case
from coterie.dsl.analysis.worst_case_of_models import Terms
from coterie.dsl.compile.compiler import Compiled
from coterie.dsl.model.price import Price
from coterie.dsl.model.steps import PersonaStep
from tests.support.compiling import compiled, problems_of

DOCUMENT = """
llm_config:
  default_provider: scripted
  default_model: small
  personas:
    cheap: {prompts: {user: "{{ context.both }} {{ context.one }}"}, max_tokens: 10, max_reasks: 0}
    dear: {model: large, prompts: {user: "{{ context.both }}"}, max_tokens: 500, max_reasks: 0}
    planned:
      execution_plan:
        - {name: one, agent_type: generic_single_shot, persona_key: cheap}
        - {name: two, agent_type: generic_single_shot, persona_key: cheap}
    around:
      execution_plan: [{name: in, persona_key: "{{ context.who }}", personas: [planned, around]}]
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - {name: act, %s}
"""
TERMS = Terms(
    {"scripted/small": Price(input=1, output=1), "scripted/large": Price(input=10, output=10)}, 1000
)


def agent(keys: str, kind: str = "generic_single_shot") -> str:
    return DOCUMENT % f"agent_type: {kind}, persona_key: {keys}"


def problems(keys: str, kind: str = "generic_single_shot") -> list[str]:
    """`code at path: message` of each error."""
    found = problems_of(agent(keys, kind))
    return [f"{one.code} {one.path}: {one.message}" for one in found if one.severity == "error"]


def of_work(keys: str, kind: str = "generic_single_shot") -> Compiled:
    return compiled(agent(keys, kind).replace("around:", "x:").replace(", around]", "]"))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ('"{{ context.who }}"', "E102 orchestration.teams.work.tasks[0].persona_key: "),
        ("cheap, personas: [cheap]", "E107 orchestration.teams.work.tasks[0].personas: "),
        (
            '"{{ context.who }}", personas: [cheap, cheapp]',
            "E202 orchestration.teams.work.tasks[0].personas[1]: unknown persona 'cheapp'",
        ),
        (
            '"{{ context.who }}", personas: [cheap, dear, cheap]',
            "E105 orchestration.teams.work.tasks[0].personas[2]: the persona 'cheap'",
        ),
        (
            '"{{ context.who + nowhere }}", personas: [cheap]',
            "E207 orchestration.teams.work.tasks[0].persona_key: the template names nowhere",
        ),
        (
            '"{{ context.who }}", personas: [cheap, planned]',
            "E503 orchestration.teams.work.tasks[0].agent_type: the persona 'planned' has an",
        ),
    ],
)
def test_a_step_that_chooses_its_persona_is_checked_with_each_of_them(
    keys: str, message: str
) -> None:
    assert next(one for one in problems(keys) if "around" not in one).startswith(message)


def test_a_listed_persona_whose_plan_contains_the_step_is_an_error_at_its_name() -> None:
    found = problems("around", "generic_orchestrating")
    assert found == [
        "E503 llm_config.personas.around.execution_plan[0].personas[1]: the execution_plan of "
        "'around' contains itself"
    ]


def test_the_plan_of_a_run_has_every_listed_persona_with_the_config_of_the_step() -> None:
    found = of_work('"{{ context.who }}", personas: [cheap, dear], config: {temperature: 0}').plan
    step = found.teams["work"].steps[0]
    assert isinstance(step, PersonaStep)
    assert step.personas == ("cheap@work.act", "dear@work.act")
    assert [found.personas[key].temperature for key in step.personas] == [0, 0]
    assert [found.personas[key].model for key in step.personas] == ["small", "large"]


def test_the_worst_case_counts_the_dearest_persona_and_not_their_sum() -> None:
    document = of_work('"{{ context.who }}", personas: [cheap, dear]')
    worst = worst_case(document, analysed(document), TERMS)
    assert (worst.total.model_calls, worst.total.output_tokens) == (1, 500)
    assert worst.total.cost == (1000 * 10 + 500 * 10) / 1_000_000
    assert worst.models == {"scripted/small": 1, "scripted/large": 1}


def test_the_worst_case_counts_the_largest_of_several_plans() -> None:
    plans = '"{{ context.who }}", personas: [planned, x]'
    document = of_work(plans, "generic_orchestrating")
    assert worst_case(document, analysed(document), TERMS).total.model_calls == 2


def test_a_start_must_give_what_every_listed_persona_reads_and_no_more() -> None:
    document = with_needs(of_work('"{{ context.who }}", personas: [cheap, dear]'))
    assert document.plan.needs == {"who": "work/act", "both": "work/act"}
    alone = with_needs(of_work('"{{ context.who }}", personas: [cheap]'))
    assert sorted(alone.plan.needs) == ["both", "one", "who"]
