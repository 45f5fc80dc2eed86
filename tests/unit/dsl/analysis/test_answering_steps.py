"""Which steps write what people get: their text may be shown before it is decided."""

import pytest

from coterie.dsl.analysis.answering_steps import answering_steps
from tests.support.compiling import plan_of

PERSONAS = """
llm_config:
  default_provider: scripted
  default_model: m
  personas:
    writer: {stream: true, prompts: {user: hello}}
    silent: {prompts: {user: hello}}
    caller: {stream: true, tools: [add], prompts: {user: hello}}
    judged:
      stream: true
      prompts: {user: hello}
      hooks: [{on: before_model_call, when: "{{ turn > 3 }}", decide: reject}]
    shaped: {stream: true, max_reasks: 0, output_schema: {type: object}, prompts: {user: hello}}
tools: {add: {skill: Calculator.evaluate, description: Adds.}}
"""
NONE: set[str] = set()
HEARD = "{name: heard, type: wait, message: true, deadline: 1h}"
WRITES = "{name: draft, persona_key: writer}"
TELLS = '{name: told, type: reply, value: "{{ tasks.draft.data.text }}"}'


def found(tasks: str, *, orchestration: str = "", routing: str = "{default: null}") -> set[str]:
    text = f"""{PERSONAS}
orchestration:
  entry_team: desk
  {orchestration}
  teams: {{desk: {{tasks: [{tasks}], routing: {routing}}}}}
"""
    return set(answering_steps(plan_of(text)))


def spoken(
    persona: str = "writer", step: str = "", reply: str = "{{ tasks.draft.data.text }}"
) -> str:
    return (
        f"{HEARD}, {{name: draft, persona_key: {persona}{step}}}, "
        f'{{name: told, type: reply, value: "{reply}"}}'
    )


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        (spoken(), {"desk/draft"}),
        (spoken(reply="{{ tasks.draft.data }}"), {"desk/draft"}),
        (spoken(reply="Dear! {{ tasks.draft.data.text }}"), NONE),
        (spoken(reply="{{ tasks.heard.data }}"), NONE),
        (spoken("silent"), NONE),
        (spoken("caller"), NONE),
        (spoken("shaped"), NONE),
        (spoken("judged"), NONE),
        (f"{HEARD}, {WRITES}, {{name: kept, type: set, values: {{a: 1}}}}, {TELLS}", NONE),
        (f"{HEARD}, {WRITES}, {TELLS[:-1]}, when: {{path: context.a, equals: 1}}}}", NONE),
        (f"{HEARD}, {{name: once, type: block, steps: [{WRITES}, {TELLS}]}}", {"desk/once/draft"}),
    ],
    ids=["text", "data", "with more", "another", "whole", "tools", "data of a shape", "hooks",
         "not next", "perhaps", "in a block"],
)  # fmt: skip
def test_a_step_right_before_a_reply_with_its_text_answers(tasks: str, expected: set[str]) -> None:
    assert found(tasks, routing="{default: desk}") == expected


@pytest.mark.parametrize(
    ("orchestration", "tasks", "routing", "expected"),
    [
        ("", "{name: draft, persona_key: writer}", "{default: null}", {"desk/draft"}),
        ("", "{name: a, type: set, values: {b: 1}}, {name: draft, persona_key: writer}",
         "{default: null}", NONE),
        ('output: "{{ teams.desk.tasks.draft.data.text }}"',
         "{name: a, type: set, values: {b: 1}}, {name: draft, persona_key: writer}",
         "{default: null}", {"desk/draft"}),
        ('output: {said: "{{ teams.desk.tasks.draft.data.text }}"}',
         "{name: draft, persona_key: writer}", "{default: null}", {"desk/draft"}),
        ("", "{name: draft, persona_key: writer}",
         "{rules: [{condition: all_success, next_team: desk}], default: null}", NONE),
    ],
    ids=["alone", "of two", "by the output", "by its only field", "routed on"],
)  # fmt: skip
def test_the_last_step_of_a_run_answers_if_the_output_is_its_text(
    orchestration: str, tasks: str, routing: str, expected: set[str]
) -> None:
    assert found(tasks, orchestration=orchestration, routing=routing) == expected
