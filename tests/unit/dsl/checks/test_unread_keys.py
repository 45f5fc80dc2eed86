"""Keys that change nothing are warned of where they are written; keys that are read are not."""

import pytest

from tests.support.compiling import problems_of

DOCUMENT = """
llm_config:
  default_provider: scripted
  default_model: demo
  providers: { PROVIDERS }
  personas:
    asked: { prompts: { user: Go. }, tools: [helper, crew] }
    tooled: TOOLED
    planner: PLANNER
tools: { helper: { agent: tooled, description: Helps. }, crew: { team: crewed, description: C. } }
orchestration:
  entry_team: main
  teams:
    main:
      tasks:
        - { name: ask, agent_type: generic_tool_calling, persona_key: asked }
        - { name: call, team: stepped }
        - { name: follow, agent_type: generic_orchestrating, persona_key: planner }
    crewed: { tasks: [NOTE], output: { a: 1 } }
    stepped: { tasks: [NOTE], output: { a: 1 } }
    alone: { tasks: [NOTE]UNREAD }
"""
NOTE = "{ name: note, type: set, values: { x: 1 } }"
PLAN = f"execution_plan: [{NOTE}]"
HOOKS = "hooks: [{ on: before_turn, decide: fail }]"
PERSONAS = "llm_config.personas"


def found(**words: str) -> list[tuple[str, str]]:
    known = {
        "PROVIDERS": "",
        "TOOLED": "{ prompts: { user: Help. } }",
        "PLANNER": f"{{ {PLAN} }}",
        "UNREAD": "",
    }
    text = DOCUMENT
    for word, value in (known | words | {"NOTE": NOTE}).items():
        text = text.replace(word, value)
    shown = ("W517", "E503", "E510", "E508")
    return [(one.code, one.path) for one in problems_of(text) if one.code in shown]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({}, []),
        # the outputs of teams that a step or a tool runs are read
        ({"UNREAD": ", output: { a: 1 }"}, [("W517", "orchestration.teams.alone.output")]),
        # a tool asks a persona without a plan, so its hooks see turns
        ({"TOOLED": f"{{ prompts: {{ user: Help. }}, {HOOKS} }}"}, []),
        ({"TOOLED": f"{{ {PLAN}, {HOOKS} }}"}, [("E510", f"{PERSONAS}.tooled.hooks")]),
        ({"PLANNER": f"{{ {PLAN}, {HOOKS} }}"}, [("E510", f"{PERSONAS}.planner.hooks")]),
        ({"PLANNER": f"{{ {PLAN}, max_reasks: 1 }}"}, [("E503", f"{PERSONAS}.planner.max_reasks")]),
    ],
)
def test_a_key_of_an_agent_or_a_team_that_nobody_reads_is_reported(
    words: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    assert found(**words) == expected


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ("p: { kind: openai, options: { a: 1 } }", [("W517", "llm_config.providers.p.options")]),
        ("openai: { options: { a: 1 } }", [("W517", "llm_config.providers.openai.options")]),
        ("p: { kind: 'birds:Parrot', options: { a: 1 } }", []),
        ("p: { kind: openai }", []),
    ],
)
def test_options_are_only_for_a_kind_of_provider_that_a_package_gives(
    section: str, expected: list[tuple[str, str]]
) -> None:
    assert found(PROVIDERS=section) == expected
