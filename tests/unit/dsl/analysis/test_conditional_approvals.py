"""`requires_approval` with a condition: every written form, older plans, and the words for it."""

import pytest

from coterie.dsl.model.conditions import AllOf, ContextField, Expression, TeamOutcome
from coterie.dsl.model.decision_terms import CallApproval
from coterie.dsl.model.steps import PersonaStep
from coterie.rendering.plan_text import step_lines
from tests.support.engine import plan_of

TEXT = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas: {writer: {prompts: {user: Write.}}}
orchestration:
  entry_team: only
  teams:
    only:
      tasks:
        - name: write
          persona_key: writer
          requires_approval: {at: after, deadline: 1d, when: WHEN}
"""
LONG = "{{ data.text | length > 5 }}"
FORMS = [
    (f'"{LONG}"', Expression(expression=LONG)),
    ("all_success", TeamOutcome(outcome="all_success")),
    (
        "{context_field: risk, operator: gt, value: 3}",
        ContextField(context_field="risk", operator="greater_than", value=3),
    ),
    (
        f'["{LONG}", all_success]',
        AllOf.model_validate(
            {"and": [Expression(expression=LONG), TeamOutcome(outcome="all_success")]}
        ),
    ),
]


@pytest.mark.parametrize(("written", "meant"), FORMS)
def test_the_condition_of_an_approval_has_every_form_of_conditions(
    written: str, meant: object
) -> None:
    [step] = plan_of(TEXT.replace("WHEN", written)).teams["only"].steps
    assert isinstance(step, PersonaStep)
    assert isinstance(step.requires_approval, CallApproval)
    assert (step.requires_approval.at, step.requires_approval.when) == ("after", meant)


def test_the_text_of_a_plan_names_the_condition() -> None:
    plan = plan_of(TEXT.replace("WHEN", f'"{LONG}"'))
    [line] = step_lines(plan.teams["only"].steps, plan, 0)
    assert "a person accepts its answer if" in line
    assert "data.text | length > 5" in line
