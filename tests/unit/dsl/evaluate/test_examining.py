"""A decision is taken apart into what was asked and found, and never reported in another way."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.dsl.evaluate.because import condition_because
from coterie.dsl.evaluate.condition_evaluation import holds
from coterie.dsl.evaluate.context import PathChange, apply, differences, replacing
from coterie.dsl.evaluate.evidence import Examined, TriedAlternatives, alternatives, examine, rules
from coterie.dsl.evaluate.routing import choose
from coterie.dsl.model.conditions import (
    AllOf,
    AnyOf,
    Condition,
    ContextField,
    Expression,
    Not,
    TaskField,
    TaskStatus,
    TeamOutcome,
)
from coterie.dsl.model.facts import Facts
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Routing, Rule, Team
from coterie.dsl.model.step_kinds.branch_step import Branch
from coterie.dsl.model.steps import BranchStep, SetStep

FACTS = Facts(
    context={"tries": 3, "deep": {"er": [1, 2]}},
    tasks={"review": Outcome.succeeded({"verdict": "FAIL"}), "lint": Outcome.skipped()},
)
FAIL = TaskField(task="review", output_field="verdict", value="FAIL")
PASS = TaskField(task="review", output_field="verdict", value="PASS")
OFTEN = ContextField(context_field="tries", operator="greater_than", value=5)
RAN = TaskStatus(task="lint", status="success")


def all_of(parts: list[Condition]) -> Condition:
    return AllOf(**{"and": tuple(parts)})


def any_of(parts: list[Condition]) -> Condition:
    return AnyOf(**{"or": tuple(parts)})


def negated(part: Condition) -> Condition:
    return Not(**{"not": part})


LEAVES: list[Condition] = [
    FAIL,
    PASS,
    OFTEN,
    RAN,
    TeamOutcome(outcome="all_success"),
    Expression(expression="{{ context.tries > 2 }}"),
    Expression(expression="{{ not context.deep }}"),
]
CONDITIONS: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from(LEAVES),
    lambda below: (
        st.lists(below, max_size=3).map(all_of)
        | st.lists(below, max_size=3).map(any_of)
        | below.map(negated)
    ),
    max_leaves=8,
)


@given(CONDITIONS)
def test_evidence_holds_exactly_when_the_condition_did(condition: Condition) -> None:
    assert examine(condition, FACTS).holds == holds(condition, FACTS)


@pytest.mark.parametrize(
    ("condition", "holding", "message"),
    [
        (FAIL, True, 'review.verdict is "FAIL" (equals "FAIL")'),
        (PASS, False, 'review.verdict is "FAIL" (equals "PASS")'),
        (RAN, False, "lint is skipped, not success"),
        (
            Expression(expression="{{ context.tries > 2 }}"),
            True,
            "context.tries is 3 (context.tries > 2)",
        ),
        (
            Expression(expression="{{ context.deep.er[0] == tasks.review.data.verdict }}"),
            False,
            'context.deep.er.0 is 1, tasks.review.data.verdict is "FAIL" '
            "(context.deep.er[0] == tasks.review.data.verdict)",
        ),
    ],
)
def test_a_test_tells_the_value_that_it_found(
    condition: Condition, holding: bool, message: str
) -> None:
    seen = examine(condition, FACTS)
    assert seen == Examined("test", holding, message, found=seen.found)
    assert seen.found is None or condition_because(seen.found) == message


def test_an_expression_that_could_not_be_asked_says_so() -> None:
    found = examine(Expression(expression="{{ context.nope > 2 }}"), FACTS)
    assert not found.holds
    assert "context.nope has no value" in found.finding


def test_each_part_of_a_compound_condition_is_seen() -> None:
    found = examine(all_of([FAIL, negated(OFTEN), any_of([PASS, RAN])]), FACTS)
    assert (found.asked, found.holds) == ("all of", False)
    assert [(part.asked, part.holds) for part in found.parts] == [
        ("test", True),
        ("not", True),
        ("any of", False),
    ]
    assert found.parts[1].parts[0].finding == "context.tries is 3 (greater_than 5)"


def test_rules_are_asked_in_order_up_to_the_one_that_leads_on() -> None:
    team = Team(
        id="review",
        name="review",
        steps=(),
        routing=Routing(
            rules=(
                Rule(condition=PASS, next_team="sign"),
                Rule(condition=FAIL, next_team=("fix", "tell")),
                Rule(condition=None, next_team=None),
            )
        ),
    )
    assert choose(team, FACTS).because.startswith("rule 2: ")
    first, second, third = rules(team, FACTS)
    assert (first.taken, second.taken, third.taken) == (False, True, None)
    assert second.leads_to == "fix, tell"
    assert third == TriedAlternatives(3, None, None)


def test_the_ways_of_a_branch_are_asked_in_order_too() -> None:
    step = BranchStep(
        kind="branch",
        name="which",
        branches=(
            Branch(condition=PASS, steps=(SetStep(kind="set", name="good", values={}),)),
            Branch(condition=FAIL, steps=(SetStep(kind="set", name="bad", values={}),)),
        ),
    )
    assert [(one.leads_to, one.taken) for one in alternatives(step, FACTS)] == [
        ("good", False),
        ("bad", True),
    ]


def test_a_difference_is_reported_by_the_deepest_path_that_both_have() -> None:
    before: Any = {"same": 1, "gone": 2, "deep": {"er": 1, "list": [1]}, "kind": {"a": 1}}
    after: Any = {"same": 1, "deep": {"er": 2, "list": [1, 2], "new": None}, "kind": "text"}
    assert differences(before, after) == (
        PathChange("gone", "removed", before=2),
        PathChange("deep.er", "changed", 1, 2),
        PathChange("deep.list", "changed", [1], [1, 2]),
        PathChange("deep.new", "added", after=None),
        PathChange("kind", "changed", {"a": 1}, "text"),
    )
    assert differences(before, before) == ()
    assert differences({"n": 1}, {"n": 1.0}) == ()
    for number, flag in ((1, True), (0, False)):
        shown = PathChange("a.b", "changed", [number], [flag])
        assert differences({"a": {"b": [number]}}, {"a": {"b": [flag]}}) == (shown,)
    assert differences({}, apply({}, replacing({"a.b": 1}))) == (
        PathChange("a", "added", after={"b": 1}),
    )
