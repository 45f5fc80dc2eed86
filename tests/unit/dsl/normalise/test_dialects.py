"""Each older form is read with the meaning that its author intended: its present form's plan."""

from pathlib import Path

import pytest

from coterie.documents.compilation import compile_target
from coterie.dsl.compile.compiler import SourceText
from coterie.dsl.model.conditions import CONDITION_KEYS, AllOf, ContextField, Expression, TaskField
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import PersonaStep
from coterie.dsl.normalise.written_steps import AGENT_TYPES, STEP_TYPES
from coterie.settings import load
from tests.support.documents.old_forms import FOLDER, NAMES, compiled_form, compiled_text

PERSONA = "provider: scripted\nmodel: demo\nprompts: { user: Go on. }\n"


def plan_of(text: str, *more: SourceText) -> Plan:
    return compiled_text(text, "form.yml", *more).plan


@pytest.mark.parametrize("name", NAMES)
def test_an_older_form_compiles_to_the_plan_of_its_present_form(name: str) -> None:
    old, new = compiled_form(name, "old"), compiled_form(name, "new")
    assert old.plan.model_dump() == new.plan.model_dump()
    assert [shown.code for shown in old.warnings] == [shown.code for shown in new.warnings]


def test_every_form_that_the_tables_name_has_its_file() -> None:
    written = "\n".join(file.read_text() for file in FOLDER.glob("*.old.yml"))
    for name in (*AGENT_TYPES, *STEP_TYPES):
        assert f"type: {name}" in written, name
    for name in ("and", "or", "not", "simple"):
        assert f"type: {name}" in written, name


def test_a_persona_may_have_a_file_of_its_own() -> None:
    team = """
orchestration:
  teams:
    start:
      tasks: [{ name: go, agent_type: generic_llm, persona_key: planner_v1 }]
"""
    beside = plan_of(team, SourceText("planner_v1.yml", PERSONA, persona="planner_v1"))
    fields = ", ".join(PERSONA.splitlines())
    within = plan_of(f"llm_config: {{ personas: {{ planner_v1: {{ {fields} }} }} }}\n{team}")
    assert beside.model_dump() == within.model_dump()


def test_a_folder_of_persona_files_is_read_beside_the_system_file(tmp_path: Path) -> None:
    (tmp_path / "personas").mkdir()
    (tmp_path / "personas" / "planner_v1.yml").write_text(
        "provider: anthropic\nmodel: some-model\nprompts: { user: Go on. }\n"
        "execution_plan: { enabled: false, steps: [] }\n"
    )
    (tmp_path / "system_config.yml").write_text(
        "orchestration:\n  entry_team: start\n  teams:\n    start:\n      tasks:\n"
        "        - { name: go, agent_type: GenericLLMAgent, persona_key: planner_v1 }\n"
    )
    found = compile_target(load({}, tmp_path), str(tmp_path / "system_config.yml"))
    assert found.compiled.plan.personas["planner_v1"].model == "some-model"


def test_the_older_name_of_a_keys_variable_is_read() -> None:
    compiled = compiled_text("""
llm_config: { providers: { other: { kind: openai, env_var: OTHER_KEY } } }
orchestration:
  teams: { start: { tasks: [{ name: s, agent_type: generic_llm, persona_key: writer }] } }
""")
    assert compiled.providers["other"].api_key_env == "OTHER_KEY"


def conditions(*texts: str) -> list[object]:
    rules = "\n".join(f"          - {{ condition: {text}, next_team: null }}" for text in texts)
    plan = plan_of(f"""
orchestration:
  teams:
    start:
      tasks: [{{ name: s, agent_type: generic_llm, persona_key: writer }}]
      routing:
        rules:
{rules}
        default: null
""")
    routing = plan.teams["start"].routing
    assert routing is not None
    return [rule.condition for rule in routing.rules]


def test_a_key_of_the_context_may_be_called_like_a_part_of_an_older_form() -> None:
    plain, simple = conditions("{ field: x }", "{ field: x, operator: eq, value: 1 }")
    assert plain == conditions("{ context_field: field, operator: equals, value: x }")[0]
    assert simple == conditions("{ context_field: x, operator: equals, value: 1 }")[0]


def test_the_words_of_older_conditions_may_be_capitals() -> None:
    old, new = conditions("{ type: AND, conditions: [all_success] }", "{ and: [all_success] }")
    assert old == new


def test_no_present_form_of_a_condition_is_taken_for_an_older_one() -> None:
    """Only `field`, `type` and `config_field` tell an older form; none of them is a present key."""
    assert not {"field", "type", "config_field"} & set(CONDITION_KEYS)


def test_a_team_that_is_called_none_can_be_next() -> None:
    plan = plan_of("""
orchestration:
  teams:
    start:
      tasks: [{ name: s, agent_type: generic_llm, persona_key: writer }]
      routing: { rules: [{ next_team: none }], default: null }
    none:
      tasks: [{ name: t, agent_type: generic_llm, persona_key: writer }]
""")
    routing = plan.teams["start"].routing
    assert routing is not None
    assert routing.rules[0].next_team == "none"


def test_a_field_that_a_condition_asks_a_task_for_is_no_variable() -> None:
    plan = plan_of("""
llm_config:
  personas:
    coder:
      execution_plan:
        - { name: ask, agent_type: generic_llm, persona_key: writer }
        - name: note
          type: set
          values: { x: 1 }
          when:
            - { task: ask, output_field: size, operator: exists }
            - { type: simple, field: size, value: 1 }
orchestration:
  teams:
    start: { tasks: [{ name: s, agent_type: generic_orchestrating, persona_key: coder }] }
""")
    steps = plan.personas["coder"].execution_plan
    assert steps is not None
    asked = steps[1].when
    assert isinstance(asked, AllOf)
    assert asked.all_of[1] == ContextField(context_field="size", operator="equals", value=1)


def test_a_condition_of_a_plan_asks_its_steps_and_nothing_else_of_the_persona() -> None:
    """Prompts may look like a step: here with a name, and a variable that it sets."""
    plan = plan_of("""
llm_config:
  personas:
    coder:
      prompts: { name: review, output_variable: size }
      execution_plan:
        - { name: ask, type: llm_call, prompt: name, output_variable: words }
        - name: note
          type: set
          values: { x: 1 }
          when:
            - { type: simple, field: ask.size, value: 1 }
            - { type: simple, field: words, value: 1 }
            - { type: simple, field: review.size, value: 1 }
            - { type: simple, field: size, value: 1 }
orchestration:
  teams:
    start: { tasks: [{ name: s, agent_type: generic_orchestrating, persona_key: coder }] }
""")
    steps = plan.personas["coder"].execution_plan
    assert steps is not None
    asked = steps[1].when
    assert isinstance(asked, AllOf)
    of_task, of_variable, *of_context = asked.all_of
    assert of_task == TaskField(task="ask", output_field="size", operator="equals", value=1)
    assert isinstance(of_variable, Expression)
    assert of_context == [
        ContextField(context_field="review.size", operator="equals", value=1),
        ContextField(context_field="size", operator="equals", value=1),
    ]


@pytest.mark.parametrize("key", ["persona_key", "persona", "agent"])
def test_a_question_of_a_plan_may_ask_another_persona_by_each_name_of_the_key(key: str) -> None:
    plan = plan_of(f"""
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    coder:
      execution_plan: [{{ name: ask, type: llm_call, prompt: summary, {key}: critic }}]
    critic: {{ prompts: {{ summary: Sum it up. }} }}
orchestration:
  teams:
    start: {{ tasks: [{{ name: s, agent_type: generic_orchestrating, persona_key: coder }}] }}
""")
    steps = plan.personas["coder"].execution_plan
    assert steps is not None
    (step,) = steps
    assert isinstance(step, PersonaStep)
    assert (step.persona_key, step.prompt) == ("critic@coder/ask", "summary")
