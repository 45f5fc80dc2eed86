"""Conditions in few words."""

from typing import get_args

import pytest

from coterie.dsl.model.conditions import Operator
from coterie.graph.condition_labels import condition_words, expression_words
from coterie.graph.picture import picture
from tests.support.pictures.graphs import HEAD, plan_of


def words(condition: str) -> tuple[str, ...]:
    """The words of the only rule's condition."""
    made = plan_of(f"""{HEAD}
orchestration:
  entry_team: one
  teams:
    one:
      tasks: [{{ name: task, type: set, values: {{ a: 1 }} }}]
      routing: {{ rules: [{{ condition: {condition}, next_team: one }}], default: null }}
""")
    routing = made.teams["one"].routing
    assert routing is not None
    return condition_words(routing.rules[0].condition)


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("{ task: task, status: success }", "task succeeded"),
        ("{ task: task, status: failure }", "task failed"),
        ("{ task: task, status: skipped }", "task was skipped"),
        ("all_success", "all tasks succeeded"),
        ("any_success", "a task succeeded"),
        ("any_failure", "a task failed"),
        ("all_failure", "all tasks failed"),
        ("{ task: task, output_field: a, operator: equals, value: x }", 'task.a = "x"'),
        ("{ context_field: a.b, operator: ne, value: 1 }", "context.a.b \u2260 1"),
        ("{ context_field: n, operator: gt, value: 1 }", "context.n > 1"),
        ("{ context_field: n, operator: lt, value: 1 }", "context.n < 1"),
        ("{ context_field: n, operator: ge, value: 1 }", "context.n \u2265 1"),
        ("{ context_field: n, operator: le, value: 1 }", "context.n \u2264 1"),
        ("{ context_field: n, operator: exists }", "context.n exists"),
        ("{ context_field: n, operator: exists, value: false }", "context.n does not exist"),
        ("{ context_field: n, operator: is_empty, value: false }", "context.n is not empty"),
        ("{ context_field: n, operator: is_null }", "context.n is null"),
        ("{ context_field: n, operator: in, value: [a, b] }", 'context.n is one of ["a", "b"]'),
        ("{ context_field: n, operator: min_length, value: 2 }", "context.n has length \u2265 2"),
        ("{ not: { task: task, status: success } }", "not task succeeded"),
        (
            "{ or: [any_failure, { context_field: n, operator: eq, value: 1 }] }",
            "a task failed or context.n = 1",
        ),
        ("{ not: { or: [any_failure, any_success] } }", "not (a task failed or a task succeeded)"),
        ('"{{ context.n > 3 }}"', "context.n > 3"),
    ],
)
def test_a_condition_is_said_as_a_person_would(condition: str, said: str) -> None:
    assert words(condition) == (said,)


def test_each_part_that_has_to_hold_stands_alone() -> None:
    assert words('[all_success, { and: [any_success, "{{ run.visit < 3 }}"] }]') == (
        "all tasks succeeded",
        "a task succeeded",
        "run.visit < 3",
    )


def test_a_template_of_several_expressions_stays_as_it_is() -> None:
    assert expression_words("{{ a }} and {{ b }}") == "{{ a }} and {{ b }}"
    assert expression_words("{{ a\n  + b }}") == "a + b"


def test_no_condition_is_always() -> None:
    assert condition_words(None) == ("always",)


@pytest.mark.parametrize("operator", get_args(Operator))
def test_every_operator_has_words_of_its_own(operator: str) -> None:
    value = {
        "in_range": "[1, 2]",
        "is_type": "string",
        "exists": "true",
        "is_empty": "true",
        "is_null": "true",
        "in": "[1]",
        "contains_any": "[1]",
        "contains_all": "[1]",
    }.get(operator, "1")
    if operator in ("matches", "starts_with", "ends_with"):
        value = "abc"
    [said] = words(f"{{ context_field: n, operator: {operator}, value: {value} }}")
    assert said.startswith("context.n ")
    assert "_" not in said


def test_a_box_tells_what_its_team_may_use_and_the_head_what_all_may() -> None:
    made = picture(
        plan_of(f"""{HEAD.replace("writer: {", "writer: { budgets: { tool_calls: 1 },")}
orchestration:
  entry_team: one
  budgets: {{ tokens: {{ limit: 5000, on_exceeded: route, next_team: two }} }}
  teams:
    one:
      budgets: {{ money: {{ limit: 2, on_exceeded: ask }}, working_time: 90s, model_calls: 3 }}
      tasks: [{{ name: write, agent_type: generic_single_shot, persona_key: writer, input: x }}]
    two:
      tasks: [{{ name: task, type: set, values: {{ a: 1 }} }}]
""")
    )
    assert made.limits[-2:] == ("5,000 tokens, then two", "persona.writer: 1 tool call, then stop")
    assert [box.limits for box in made.boxes] == [
        ("2.00 USD, then ask", "3 model calls, then stop", "90 s of work, then stop"),
        (),
    ]
