"""Every written form of a condition: what it compiles to, and when it holds."""

from typing import Any

import pytest
from hypothesis import given

from coterie.dsl.errors import TemplateFailed
from coterie.dsl.evaluate.because import condition_because
from coterie.dsl.evaluate.condition_evaluation import holds, inspect
from coterie.dsl.model.conditions import Condition
from coterie.dsl.model.facts import Facts
from coterie.dsl.model.outcomes import Outcome
from tests.support.compiling import plan_of
from tests.support.documents.strategies import json_objects

TEAM = """
orchestration:
  entry_team: a
  teams:
    a:
      tasks:
        - {name: check, type: set, values: {x: 1}}
        - {name: other, type: set, values: {x: 1}}
        - {name: never, type: set, values: {x: 1}}
      routing:
        rules: [{condition: CONDITION, next_team: null}]
        default: null
"""


def because_of(asked: Condition, facts: Facts) -> str:
    """What the condition found, as people read it."""
    return condition_because(inspect(asked, facts))


def condition(written: str) -> Condition:
    plan = plan_of(TEAM.replace("CONDITION", written))
    routing = plan.teams["a"].routing
    assert routing is not None
    asked = routing.rules[0].condition
    assert asked is not None
    return asked


FACTS = Facts(
    context={"outcome": {"rework": False, "score": 7}, "tags": ["a", "b"], "none": None},
    tasks={
        "check": Outcome.succeeded({"status": "FAIL", "n": 3}),
        "other": Outcome.failed("Timeout", "slow", {"n": 1}),
        "never": Outcome.skipped(),
    },
)


@pytest.mark.parametrize(
    ("written", "found"),
    [
        # a task's output
        ("{task: check, output_field: status, operator: equals, value: FAIL}", True),
        ("{task: check, output_field: status, value: FAIL}", True),
        ("{task: check, output_field: status, operator: ne, value: FAIL}", False),
        ("{task: check, output_field: n, operator: '>=', value: 3}", True),
        ("{task: check, output_field: n, operator: gt, value: 3}", False),
        ("{task: other, output_field: n, operator: lte, value: 1}", True),
        ("{task: never, output_field: n, operator: exists}", False),
        ("{task: check, output_field: deep.er, operator: is_null}", True),
        # a task's status
        ("{task: check, status: success}", True),
        ("{task: other, status: failure}", True),
        ("{task: never, status: skipped}", True),
        ("{task: never, status: success}", False),
        # the context
        ("{context_field: outcome.rework, operator: equals, value: false}", True),
        ("{context_field: outcome.score, operator: in_range, value: [1, 7]}", True),
        ("{context_field: tags, operator: contains_all, value: [a, b]}", True),
        ("{context_field: 'tags[1]', value: b}", True),
        ("{context_field: none, operator: exists}", True),
        ("{context_field: nothing, operator: exists}", False),
        ("{context_field: nothing, operator: not_equals, value: 1}", True),
        # and, or, not
        ("[{task: check, status: success}, {task: other, status: failure}]", True),
        ("[{task: check, status: success}, {task: other, status: success}]", False),
        ("[]", True),
        ("{and: [{task: check, status: success}, {task: never, status: skipped}]}", True),
        ("{or: [{task: check, status: failure}, {task: other, status: failure}]}", True),
        ("{or: [{task: check, status: failure}, {task: other, status: success}]}", False),
        ("{or: []}", False),
        ("{not: {task: check, status: failure}}", True),
        ("{type: not, conditions: [{task: check, status: failure}]}", True),
        ("{type: not, conditions: [{task: check, status: success}, all_failure]}", True),
        ("{type: not, condition: {task: check, status: success}}", False),
        ("{not: [{task: check, status: success}, {task: other, status: success}]}", True),
        ("{or: [[{task: check, status: success}, all_success], {not: all_failure}]}", True),
        # how the team's tasks ended
        ("all_success", False),
        ("any_success", True),
        ("any_failure", True),
        ("all_failure", False),
        # an expression
        ("'{{ tasks.check.data.n > 2 }}'", True),
        ("'  {{ context.outcome.score == 8 }}  '", False),
        ("'{{ context.tags }}'", True),
        ("'{{ context.none }}'", False),
        ("'{{ \"a\" in context.tags and not context.outcome.rework }}'", True),
    ],
)
def test_a_condition_of_every_form(written: str, found: bool) -> None:
    asked = condition(written)
    assert holds(asked, FACTS) is found
    assert because_of(asked, FACTS)


@pytest.mark.parametrize(
    ("written", "because"),
    [
        ("{task: check, output_field: status, value: X}", 'check.status is "FAIL" (equals "X")'),
        ("{task: check, output_field: a.b, operator: exists}", "check.a.b is missing (exists)"),
        (
            "{context_field: outcome.score, operator: lt, value: 5}",
            "context.outcome.score is 7 (less_than 5)",
        ),
        ("{task: never, status: success}", "never is skipped, not success"),
        (
            "[{task: check, status: success}, {not: any_failure}]",
            "check is success and not (any_failure (check success, other failure, never skipped))",
        ),
        ("[]", "no conditions"),
        ("'{{ context.tags }}'", 'context.tags is ["a", "b"] (context.tags)'),
    ],
)
def test_a_condition_tells_what_it_found(written: str, because: str) -> None:
    assert because_of(condition(written), FACTS) == because


def test_a_long_value_is_reported_by_its_beginning() -> None:
    facts = Facts(context={"text": "x" * 500})
    assert len(because_of(condition("{context_field: text, value: y}"), facts)) < 120


def test_an_expression_that_names_what_is_not_there_is_an_error_that_says_so() -> None:
    with pytest.raises(TemplateFailed, match=r"context\.nope has no value"):
        holds(condition("'{{ context.nope > 1 }}'"), FACTS)


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ("", (True, False, False, False)),
        ("s", (True, True, False, False)),
        ("f", (False, False, True, True)),
        ("sf", (False, True, True, False)),
        ("s-", (True, True, False, False)),
        ("f-", (False, False, True, True)),
        ("-", (True, False, False, False)),
    ],
)
def test_condition_on_all_tasks_has_its_form(statuses: str, expected: tuple[bool, ...]) -> None:
    made = {"s": Outcome.succeeded(), "f": Outcome.failed("T", "m"), "-": Outcome.skipped()}
    facts = Facts(context={}, tasks={f"t{i}": made[one] for i, one in enumerate(statuses)})
    words = ("all_success", "any_success", "any_failure", "all_failure")
    assert tuple(holds(condition(word), facts) for word in words) == expected


ASKING = [
    condition(f"{{context_field: a.b, operator: {operator}, value: {value}}}")
    for operator, value in (
        ("contains", "a"),
        ("greater_than", "1"),
        ("matches", "a+"),
        ("min_length", "2"),
        ("in", "[a, null]"),
    )
]


@given(json_objects)
def test_asking_the_context_never_fails_and_never_changes_it(context: dict[str, Any]) -> None:
    before = repr(context)
    for asked in ASKING:
        assert holds(asked, Facts(context=context)) in (True, False)
    assert repr(context) == before
