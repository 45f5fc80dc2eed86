"""E302 of a filter or test that there is not says what to write instead."""

import pytest

from coterie.dsl.templates.jinja_engine import ENVIRONMENT
from tests.support.compiling import problems_of
from tests.support.one_team import document


@pytest.mark.parametrize(
    ("expression", "fix"),
    [
        ("context.x | tojsn", "did you mean 'tojson'?"),
        ("context.x | sumby(1, 2)", "did you mean 'sum_by'?"),
        ("context.x is definedd", "did you mean 'defined'?"),
    ],
)
def test_a_misspelled_filter_or_test_names_the_nearest(expression: str, fix: str) -> None:
    (problem,) = problems_of(
        document(f"- {{name: a, type: set, values: {{x: '{{{{ {expression} }}}}'}}}}")
    )
    assert (problem.code, problem.fix, problem.allowed) == ("E302", fix, "")


def test_a_filter_that_is_near_to_none_lists_them_all() -> None:
    (problem,) = problems_of(document("- {name: a, type: set, values: {x: '{{ 1 | qqq }}'}}"))
    known = sorted(name for name in ENVIRONMENT.filters if name.isidentifier())
    assert (problem.code, problem.allowed) == ("E302", ", ".join(known))
