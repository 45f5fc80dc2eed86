"""A person who edits the answer of a chosen persona keeps to that persona's schema."""

import pytest

from coterie.dsl.model.decision_terms import CallApproval
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.steps import PersonaStep
from coterie.dsl.values import Json
from coterie.workflows.core.causes.agent_causes import PersonaChosen
from coterie.workflows.core.location import Location
from coterie.workflows.core.state_keys import MAIN
from coterie.workflows.steps.agent import with_persona
from tests.support.compiling import plan_of
from tests.support.simulation.stopping import StoppingScope, World, fresh

NUMBER: Json = {"type": "object", "properties": {"n": {"type": "integer"}}}
OWN: Json = {"type": "object"}
HERE = Location.of_visit(MAIN, "work", 1).at("act")


def scope_of(approval: str) -> tuple[PersonaStep, StoppingScope]:
    """The step with these terms, and a run at it whose context names the persona."""
    plan = plan_of(f"""
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    red:
      prompts: {{user: Go}}
      output_schema: {{type: object, properties: {{n: {{type: integer}}}}}}
    blue: {{prompts: {{user: Go}}}}
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - name: act
          agent_type: generic_single_shot
          persona_key: "{{{{ context.who }}}}"
          personas: [red, blue]
          input: it
          requires_approval: {approval}
""")
    (step,) = plan.teams["work"].steps
    assert isinstance(step, PersonaStep)
    return step, StoppingScope(plan, fresh(plan, {"who": " red "}), World(lambda _: {}), None)


@pytest.mark.parametrize(
    ("approval", "who", "schema"),
    [
        ("{at: after, editable: true}", "red", NUMBER),
        ("{at: after, editable: true, schema: {type: object}}", "red", OWN),
        ("{at: after, editable: true}", "blue", None),
        ("{at: after}", "red", None),
        ("{at: before, editable: true}", "red", None),
    ],
)
def test_an_edited_answer_is_checked_by_the_schema_of_the_persona(
    approval: str, who: str, schema: Json | None
) -> None:
    step, scope = scope_of(approval)
    scope.state.main.context = {"who": who}
    chosen = with_persona(step, HERE, scope)
    assert isinstance(chosen, PersonaStep)
    assert chosen.persona_key == who
    assert isinstance(chosen.requires_approval, CallApproval)
    assert chosen.requires_approval.schema_ == schema


def test_what_a_plan_of_steps_gives_is_no_answer_of_the_schema() -> None:
    step, scope = scope_of("{at: after, editable: true}")
    planned = step.model_copy(update={"agent_type": "generic_orchestrating"})
    chosen = with_persona(planned, HERE, scope)
    assert isinstance(chosen, PersonaStep)
    assert isinstance(chosen.requires_approval, CallApproval)
    assert chosen.requires_approval.schema_ is None


def test_a_choice_is_noted_once_and_kept_when_the_template_gives_another() -> None:
    step, scope = scope_of("false")
    for _ in range(2):
        chosen = with_persona(step, HERE, scope)
        assert isinstance(chosen, PersonaStep)
        assert chosen.persona_key == "red"
        scope.state.main.context = {"who": "blue"}
    assert [(one.status, one.cause) for one in scope.state.trail] == [
        ("chosen", PersonaChosen("persona_chosen", "red", "{{ context.who }}", 2))
    ]


def test_a_name_that_is_not_listed_is_shown_cut() -> None:
    step, scope = scope_of("false")
    scope.state.main.context = {"who": "x" * 101}
    refused = with_persona(step, HERE, scope)
    shown = "x" * 100
    message = f"'act' cannot start: it does not list the persona '{shown}'; personas: blue, red"
    assert refused == Outcome.failed("UnknownPersona", message)
    assert (scope.state.trail, scope.state.progress.personas) == ([], {})
