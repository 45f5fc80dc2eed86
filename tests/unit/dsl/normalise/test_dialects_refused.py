"""A form that is not read is refused, with what to write instead; nothing is dropped in silence."""

import pytest

from coterie.dsl.errors import InvalidDocument, Problem
from coterie.dsl.normalise.replacements import REPLACED_OPERATORS, REPLACEMENTS
from tests.support.documents.old_forms import compiled_text

TASK = "orchestration:\n  teams:\n    start:\n      tasks:\n        - { name: s, %s }\n"
TEAM = """
orchestration:
  teams:
    start:
      tasks: [{ name: s, agent_type: generic_llm, persona_key: writer }]
      %s
"""
RULE = TEAM % "routing: { rules: [{ next_team: null, %s }], default: null }"
PLAN = "llm_config: { personas: { coder: { execution_plan: %s } } }\n" + TEAM % "name: Start"
AGENT = TASK % "agent_type: generic_llm, persona_key: writer, %s"
PERSONA = "llm_config: { personas: { writer: { %s } } }\n" + TEAM % "name: Start"
PROVIDER = "llm_config: { providers: { scripted: { %s } } }\n" + TEAM % "name: Start"

POLICY = PROVIDER % "kind: scripted, rate_limit_policy: { %s }"

PLACES = {
    "depends_on": AGENT,
    "condition": AGENT,
    "if": AGENT,
    "next": RULE,
    "max_retries": AGENT,
    "retry_count": AGENT,
    "retry_config": AGENT,
    "timeout_seconds": AGENT,
    "conditions": RULE,
    "agents": TEAM,
    "parallel": TEAM,
    "on_success": TEAM,
    "on_error": TEAM,
    "api_key": PROVIDER,
    "litellm_params": PROVIDER,
    "stop_on_error": TEAM,
    "stop_on_failure": AGENT,
    "error_handling": "orchestration: { %s }\n" + TEAM.replace("orchestration:\n", "", 1),
    "error_handler": PLAN % "{ enabled: true, steps: [], %s }",
    "target": PLAN
    % (
        "[{ name: b, branches: [{ condition: all_success, steps: [{ name: r, type: return }], %s }]"
        " }]"
    ),
    "rules": PLAN % "[{ name: r, type: return, %s }]",
    "iterate_on": TEAM,
    "loop_variable": TEAM,
    "body": TEAM,
    "break_on_failure": TEAM,
    "recursion_strategy": RULE,
    "agent_config": AGENT,
    "input_params": AGENT,
    "skill_params": PLAN % "[{ name: c, skill: Discovery.collect, %s }]",
    "allow_llm_fallback": PERSONA,
    "skills": "llm_config: { %s }\n" + TEAM % "name: Start",
    "config_locations": "%s\n" + TEAM % "name: Start",
    "model_params": PERSONA,
    "extended_thinking": PERSONA,
    "context_length": PROVIDER,
    "persona_key": PERSONA,
    "agent_type": PERSONA,
    "tokens_per_minute": POLICY,
}
"""Where each form stood."""


def refused(text: str) -> tuple[Problem, ...]:
    with pytest.raises(InvalidDocument) as caught:
        compiled_text(text)
    return caught.value.problems


def codes(text: str) -> list[str]:
    return [problem.code for problem in refused(text)]


def test_every_replaced_form_has_its_place_here() -> None:
    assert sorted(PLACES) == sorted(REPLACEMENTS)


@pytest.mark.parametrize("key", sorted(PLACES))
def test_a_form_that_has_a_replacement_is_refused_with_it(key: str) -> None:
    place = PLACES[key]
    text = place % f"{key}: 1" if place.count("%s") == 1 else place.replace("%s", f"{key}: 1", 1)
    if key == "error_handling":  # one mapping, not the same key twice
        text = TEAM.replace("orchestration:", f"orchestration:\n  {key}: 1") % "name: Start"
    (problem,) = refused(text)
    assert (problem.code, problem.fix) == ("E108", REPLACEMENTS[key])
    assert repr(key) in problem.message
    assert problem.path.endswith(key)
    line = text.splitlines()[problem.line - 1]
    assert line[problem.column - 1 :].startswith(key)


@pytest.mark.parametrize("name", sorted(REPLACED_OPERATORS))
def test_an_operator_that_turns_another_round_is_refused_with_what_to_write(name: str) -> None:
    text = RULE % f"condition: {{ context_field: x, operator: {name}, value: 1 }}"
    (problem,) = refused(text)
    assert (problem.code, problem.fix) == ("E401", REPLACED_OPERATORS[name])


@pytest.mark.parametrize(
    ("condition", "code", "named"),
    [
        ("{ type: and, conditions: all_success }", "E103", "'and' is"),
        ("{ type: and }", "E103", "'and' is empty"),
        ("{ type: or, conditions: [all_success], operator: eq }", "E101", "operator"),
        ("{ type: not, condition: all_success, value: 1 }", "E101", "value"),
        ("{ type: not }", "E109", "no known kind"),
        ("{ type: all_of, conditions: [all_success] }", "E109", "no known kind"),
        ("{ type: simple, field: x, values: 1 }", "E101", "values"),
        ("{ config_field: name, valeu: 1 }", "E101", "valeu"),
        ("{ config_field: name, operator: equal, value: 1 }", "E401", "equal"),
    ],
)
def test_extra_keys_of_an_older_condition_are_refused(
    condition: str, code: str, named: str
) -> None:
    message = refused(RULE % f"condition: {condition}")
    assert [problem.code for problem in message] == [code]
    assert named in message[0].message


@pytest.mark.parametrize(
    ("plan", "code"),
    [
        ("{ enabled: maybe, steps: [] }", "E103"),
        ("{ enabled: true }", "E103"),
        ("[{ name: s, kind: set, values: { x: 1 } }]", "E108"),
        ("[{ name: s, kind: return, type: set, values: { x: 1 } }]", "E108"),
        ("[{ name: s, skill: Discovery.collect, terms: { effect: read } }]", "E101"),
        ("[{ name: s, skill: Discovery.collect, params: {}, input: {} }]", "E101"),
        ("[{ name: s, type: set, values: { x: 1 }, params: {} }]", "E101"),
        ("[{ name: s, type: set, values: { x: 1 }, output_field: results.x }]", "E105"),
        ("[{ name: s, type: set_value, field: results.x, value: 1 }]", "E105"),
        (
            "[{ name: s, type: loop, iterate_on: found.files, loop_variable: f, "
            "body: [{ name: r, type: return }] }]",
            "E108",
        ),
        (
            "[{ name: s, type: loop, iterate_on: 'a b', loop_variable: f, "
            "body: [{ name: r, type: return }] }]",
            "E103",
        ),
        (
            "[{ name: s, type: loop, iterate_on: 'no {{ context.list }}', loop_variable: f, "
            "body: [{ name: r, type: return }] }]",
            "E103",
        ),
    ],
)
def test_extra_keys_of_an_older_plan_are_refused(plan: str, code: str) -> None:
    assert codes(PLAN % plan) == [code]


@pytest.mark.parametrize("key", ["while_", "finally_", "all_of", "negated"])
def test_names_of_the_program_are_no_names_of_the_language(key: str) -> None:
    assert codes(AGENT % f"{key}: all_success") == ["E101"]
