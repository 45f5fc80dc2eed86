"""A bound that is the template of a context path has the maximum that the path's schema has."""

import pytest
from pydantic import JsonValue

from coterie.dsl.checks.steps.bound_checks import with_maximum
from coterie.dsl.model.context.declarations import DeclaredPath
from coterie.dsl.model.steps import LoopStep
from coterie.dsl.model.template_bound import TemplateBound, TemplateDuration
from coterie.dsl.values import Json

COUNT = next(key for key in LoopStep.bounds if key.path == ("max_iterations",))
LENGTH = next(key for key in LoopStep.bounds if key.unit == "timeout")
PATH = "{{ context.a.b }}"


@pytest.mark.parametrize(
    ("maximum", "count", "length"),
    [
        (4, 4, 4),
        (4.7, 4, 4.7),
        (1, 1, 1),
        (0.5, None, 0.5),
        (0, None, None),
        (-1, None, None),
        (10**12, COUNT.high, LENGTH.high),
        (None, None, None),
    ],
)
def test_a_schema_s_maximum_bounds_a_number_and_a_duration(
    maximum: JsonValue, count: float | None, length: float | None
) -> None:
    schema: Json = {"type": "number"}
    if maximum is not None:
        schema["maximum"] = maximum
    declared = {"a.b": DeclaredPath(schema=schema, required=True)}
    found = with_maximum(COUNT, PATH, declared), with_maximum(LENGTH, PATH, declared)
    assert found == (
        PATH if count is None else TemplateBound(value=PATH, maximum=int(count)),
        PATH if length is None else TemplateDuration(value=PATH, maximum=length),
    )


@pytest.mark.parametrize("text", ["{{ context }}", "{{ tasks.a.b }}", "{{ context.c }}", "4"])
def test_another_text_has_no_maximum(text: str) -> None:
    declared = {"a.b": DeclaredPath(schema={"maximum": 4}, required=True)}
    assert with_maximum(COUNT, text, declared) == text
