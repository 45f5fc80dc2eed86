"""Conditions that hold together in some run are never said to exclude one another."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from coterie.dsl.errors import TemplateFailed
from coterie.dsl.evaluate.condition_evaluation import holds
from coterie.dsl.logic.formulas import Formula
from coterie.dsl.logic.solver import BITS, Effort, Statuses, can_hold
from coterie.dsl.logic.translation import formula
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

VALUES: list[JsonValue] = [None, True, False, 0, 1, 3, "", "a", "b", [], ["a"], {}]
EXPRESSIONS = [
    "{{ context.x }}",
    "{{ not context.x }}",
    "{{ context.x == 'a' }}",
    "{{ context.x != 'a' }}",
    "{{ context.x == 1 }}",
    "{{ context.x == true }}",
    "{{ context.x > 0 }}",
    "{{ 1 >= context.x }}",
    "{{ context.x in ['a', 1] }}",
    "{{ context.x not in ['a', 1] }}",
    "{{ context.x is defined }}",
    "{{ context.x is undefined }}",
    "{{ context.x is none }}",
    "{{ tasks.one.success }}",
    "{{ not tasks.one.success }}",
    "{{ tasks.one.status == 'failure' }}",
    "{{ tasks.two.data.v == 'a' }}",
    "{{ tasks.one.success and tasks.two.success }}",
    "{{ tasks.one.success or context.x == 'b' }}",
    "{{ context.x | default('a') == 'a' }}",
    "{{ true }}",
    "{{ false }}",
    "{{ context.x }} is it",
    "{{ context.x < 'b' }}",
]


def status(task: str, status: str) -> TaskStatus:
    return TaskStatus.model_validate({"task": task, "status": status})


def context(value: JsonValue, operator: str = "equals") -> ContextField:
    return ContextField.model_validate({"context_field": "x", "operator": operator, "value": value})


def data(value: JsonValue) -> TaskField:
    return TaskField(task="one", output_field="v", value=value)


def both(*parts: Condition) -> AllOf:
    return AllOf.model_validate({"and": parts})


def either(*parts: Condition) -> AnyOf:
    return AnyOf.model_validate({"or": parts})


def not_(part: Condition) -> Not:
    return Not.model_validate({"not": part})


def outcome(name: str) -> TeamOutcome:
    return TeamOutcome.model_validate({"outcome": name})


def expression(text: str) -> Expression:
    return Expression(expression=text)


def conditions() -> st.SearchStrategy[Condition]:
    value = st.sampled_from(VALUES)
    operator = st.sampled_from(["equals", "not_equals", "exists", "is_empty", "greater_than"])
    task = st.sampled_from(["one", "two"])
    leaf: st.SearchStrategy[Condition] = st.one_of(
        st.builds(ContextField, context_field=st.just("x"), operator=operator, value=value),
        st.builds(
            TaskField,
            task=task,
            output_field=st.sampled_from(["v", ""]),
            operator=operator,
            value=value,
        ),
        st.builds(TaskStatus, task=task, status=st.sampled_from(sorted(BITS))),
        st.builds(
            TeamOutcome,
            outcome=st.sampled_from(["all_success", "any_success", "any_failure", "all_failure"]),
        ),
        st.builds(Expression, expression=st.sampled_from(EXPRESSIONS)),
    )
    return st.recursive(leaf, _joined, max_leaves=6)


def _joined(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    parts = st.lists(inner, max_size=3).map(tuple)
    return st.one_of(
        parts.map(lambda some: both(*some)), parts.map(lambda some: either(*some)), inner.map(not_)
    )


@st.composite
def outcomes(draw: st.DrawFn) -> Outcome:
    data: JsonValue = draw(st.sampled_from([None, {}, *({"v": value} for value in VALUES)]))
    match draw(st.sampled_from(["success", "failure", "skipped"])):
        case "success":
            return Outcome.succeeded(data)
        case "failure":
            return Outcome.failed("Failed", "it failed", data)
        case _:
            return Outcome.skipped()


@st.composite
def facts(draw: st.DrawFn) -> Facts:
    context = draw(st.sampled_from([{}, *({"x": value} for value in VALUES)]))
    tasks = draw(st.dictionaries(st.sampled_from(["one", "two"]), outcomes()))
    return Facts(context=context, tasks=tasks)


ANY = [Statuses({"one": 15, "two": 15}, ("one", "two"))]


@settings(max_examples=200)
@given(st.lists(conditions(), min_size=1, max_size=4), facts())
def test_condition_that_holds_in_some_run_can_hold(some: list[Condition], found: Facts) -> None:
    formulas: list[Formula] = []
    for condition in some:
        try:
            formulas.append(formula(condition, holds(condition, found)))
        except TemplateFailed:  # then a run ends here and decides nothing
            continue
    assert can_hold(formulas, ANY, Effort())


@pytest.mark.parametrize(
    "some",
    [
        [context(1), context(2)],
        [both(context("a"), status("one", "success")), context("b")],
        [context("a"), not_(context("a"))],
        [context("a"), not_(either(context("a"), context("b")))],
        [context("a"), not_(context(["a", "b"], "in"))],
        [both(context("a"), data("b")), not_(context("a"))],
        [status("one", "success"), status("one", "failure")],
        [status("one", "skipped"), data("a")],
        [outcome("all_success"), status("one", "failure")],
        [outcome("any_failure"), not_(status("one", "failure")), not_(status("two", "failure"))],
        [outcome("all_failure"), status("two", "success")],
        [outcome("all_success"), outcome("any_failure")],
        [outcome("any_success"), outcome("any_failure"), status("one", "skipped")],
        [expression("{{ tasks.one.success }}"), status("one", "failure")],
        [expression("{{ tasks.one.status == 'failure' }}"), status("one", "success")],
        [expression("{{ tasks.one.status != 'failure' }}"), status("one", "failure")],
        [expression("{{ tasks.one.status == 'done' }}")],
        [not_(expression("{{ tasks.one.status != 'done' }}"))],
        [expression("{{ context.x == 'a' }}"), context("b")],
        [expression("{{ context.x  ==  'a' }}"), expression("{{ context.x == 'b' }}")],
        [expression("{{ 'a' == context.x }}"), context("b")],
        [expression("{{ context.x > 3 }}"), context(2, "less_than")],
        [expression("{{ context.x in ['a', 'b'] }}"), context("c")],
        [expression("{{ f(context.x) }}"), not_(expression("{{ f( context.x ) }}"))],
        [expression("{{ false }}")],
        [expression("{{ context.x is defined }}"), context(False, "exists")],
        # a task that did not run has no data
        [status("one", "skipped"), data(None)],
        [status("one", "skipped"), not_(data("a")), data("b")],
    ],
)
def test_conditions_that_exclude_one_another_are_seen(some: list[Condition]) -> None:
    assert not can_hold([formula(one) for one in some], ANY, Effort())
    assert not can_hold([formula(both(*some))], ANY, Effort())
    assert can_hold([formula(not_(both(*some)))], ANY, Effort())


@pytest.mark.parametrize(
    "some",
    [
        [either(context(1), context(2)), context(2)],
        [status("one", "success"), status("two", "failure")],
        [outcome("any_success"), outcome("any_failure")],
        [status("one", "failure"), data("a")],
        [outcome("all_success"), status("one", "skipped")],
        [expression("{{ context.x > 3 }}"), context("a", "not_equals")],
        [expression("{{ context.x == 1 }}"), context(1)],
        [expression("{{ context.items }}"), context(2)],
        [not_(context("a")), context(False, "exists")],
        [status("one", "success"), data("a")],
        [status("one", "skipped"), not_(data("a"))],
        [status("one", "skipped"), TaskField(task="one", output_field="", value=None)],
        [outcome("any_success"), outcome("any_failure"), not_(status("one", "success"))],
        [outcome("any_success"), outcome("any_failure"), not_(status("one", "failure"))],
    ],
)
def test_conditions_that_go_together_are_left_alone(some: list[Condition]) -> None:
    assert can_hold([formula(one) for one in some], ANY, Effort())


def test_true_and_one_exclude_each_other() -> None:
    both = [expression("{{ context.x == 1 }}"), context(True)]
    assert not can_hold([formula(one) for one in both], ANY, Effort())


def test_a_question_that_is_too_hard_is_answered_with_yes() -> None:
    """Eight pigeons in seven holes: certainly impossible, but not found out in so few ways."""

    def sits(pigeon: int, hole: int) -> Condition:
        return expression(f"{{{{ sits({pigeon}, {hole}) }}}}")

    def fit(pigeons: int, effort: Effort) -> bool:
        holes = range(pigeons - 1)
        one_each = [either(*(sits(p, h) for h in holes)) for p in range(pigeons)]
        alone = [
            not_(both(sits(p, h), sits(q, h)))
            for h in holes
            for p in range(pigeons)
            for q in range(p)
        ]
        return can_hold([formula(one) for one in (*one_each, *alone)], ANY, effort)

    effort = Effort()
    assert not fit(3, effort)
    assert fit(8, effort)
    assert 290_000 < effort.left < 296_000  # enough for other questions
