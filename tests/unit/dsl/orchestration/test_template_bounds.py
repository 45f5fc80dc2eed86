"""Bounds that a template gives: which have a maximum, what is refused, and what they may give."""

import math
from typing import Any

import pytest

from dsl.analysis.findings import analysed
from dsl.analysis.loads import Terms
from dsl.analysis.worst_case import worst_case
from dsl.errors import InvalidDocument
from dsl.evaluate.bounds import rendered_bound
from dsl.model.outcomes import Outcome
from dsl.model.plan import Plan
from dsl.model.sections.template_bound import TemplateBound
from dsl.model.steps import LoopStep
from tests.unit.dsl.analysis.documents import HEAD, compiled

DECLARED = (
    "  context:\n"
    "    rounds: { type: integer, default: 2, maximum: 4 }\n"
    "    free: { type: integer, default: 2 }\n"
    "    none: { type: integer, default: 0, maximum: 0 }\n"
    "    latest: { type: array, default: [], keep_last: 7 }\n"
    "    few: { type: array, default: [], maxItems: 3 }\n"
)


def loop(bound: str, over: str = "while: '{{ true }}'") -> Any:
    text = f"a:\n  tasks: [{{ name: l, type: loop, {over}, {bound} body: [WRITE] }}]\n"
    head = HEAD.replace("  teams:\n", f"{DECLARED}  teams:\n")
    head = head.replace("context.topic | default('it')", "context.rounds")
    return compiled(text, head.replace("prompts:", "max_reasks: 0, prompts:"))


def bound_of(plan: Plan) -> object:
    (step,) = plan.teams["a"].steps
    assert isinstance(step, LoopStep)
    return step.max_iterations


@pytest.mark.parametrize(
    ("written", "compiled_to", "most"),
    [
        ("5", 5, 5),
        (
            "{ value: '{{ context.free + 1 }}', maximum: 6 }",
            TemplateBound(value="{{ context.free + 1 }}", maximum=6),
            6,
        ),
        ("'{{ context.rounds }}'", TemplateBound(value="{{ context.rounds }}", maximum=4), 4),
    ],
)
def test_a_bound_has_a_maximum_that_the_worst_case_counts(
    written: str, compiled_to: object, most: int
) -> None:
    done = loop(f"max_iterations: {written},")
    assert bound_of(done.plan) == compiled_to
    assert worst_case(done, analysed(done), Terms({}, 1)).total.model_calls == most
    assert Plan.model_validate_json(done.plan.model_dump_json(by_alias=True)) == done.plan


@pytest.mark.parametrize(
    ("written", "code", "says"),
    [
        ("'{{ context.free }}'", "E102", "maximum: 10"),
        ("'{{ context.none }}'", "E102", "maximum: 10"),
        ("'{{ context.rounds + 1 }}'", "E102", "maximum: 10"),
        ("'{{ context.rounds }}x'", "E103", "one template"),
        ("'{{ context.rouns }}'", "E215", "rouns"),
        ("{ value: '{{ context.rouns }}', maximum: 3 }", "E215", "rouns"),
        ("{ value: five, maximum: 3 }", "E103", "five"),
        ("{ value: '{{ context.free }}' }", "E102", "maximum"),
        ("{ value: '{{ context.free }}', maximum: 0 }", "E106", "maximum"),
        ("{ value: '{{ context.free }}', maximum: 3, minimum: 1 }", "E101", "minimum"),
        ("0", "E106", "max_iterations"),
        ("five", "E103", "whole number"),
    ],
)
def test_a_bound_without_a_maximum_is_refused_with_its_fix(
    written: str, code: str, says: str
) -> None:
    with pytest.raises(InvalidDocument) as error:
        loop(f"max_iterations: {written},")
    told = [problem for problem in error.value.problems if problem.code == code]
    assert any(says in f"{problem.message} {problem.allowed} {problem.fix}" for problem in told)
    assert {problem.line for problem in told} == {told[0].line}


@pytest.mark.parametrize(
    ("over", "most"), [("context.few", 3), ("context.latest", 7), ("context.few + [1]", math.inf)]
)
def test_a_list_of_a_declared_length_bounds_a_loop_over_it(over: str, most: float) -> None:
    done = loop("", f"loop_variable: i, iterate_on: '{{{{ {over} }}}}'")
    found = worst_case(done, analysed(done), Terms({}, 1))
    assert found.total.model_calls == most
    assert (found.unbounded == ()) is (most < math.inf)


@pytest.mark.parametrize(("given", "number"), [(1, 1), (3, 3), (4, 4), (900, 4), (2.0, 2)])
def test_a_number_above_the_maximum_counts_as_the_maximum(given: float, number: int) -> None:
    bound = TemplateBound(value="{{ n }}", maximum=4)
    assert rendered_bound(bound, {"n": given}, "it") == number


@pytest.mark.parametrize("given", [0, -1, 1.5, True, "3", None, [], {}])
def test_anything_else_than_a_whole_number_of_one_or_more_fails_by_name(given: object) -> None:
    found = rendered_bound(TemplateBound(value="{{ n }}", maximum=4), {"n": given}, "the bound")
    assert isinstance(found, Outcome)
    assert found.error is not None
    assert found.error.type == "InvalidBound"
    assert found.error.message.startswith("the bound gives ")
