"""Graders: what they accept, and what they say when they do not."""

import pytest
from pydantic import JsonValue

from coterie.dsl.values import Json
from coterie.evals.graders import NoVerdict, kind_of, name_of, verify
from coterie.evals.suite_document import GraderDocument

FACTS: Json = {"output": {"total": 5, "rows": [1, 2]}, "expected": 5, "model_calls": 3}


@pytest.mark.parametrize(
    ("grader", "passed", "because"),
    [
        ({"exact": {"total": 5, "rows": [1, 2]}}, True, ""),
        ({"of": "{{ output.total }}", "exact": "{{ expected }}"}, True, ""),
        ({"of": "{{ output.total }}", "exact": "5"}, False, 'expected "5", found 5'),
        ({"of": "{{ output.total }}", "exact": None}, False, "expected null, found 5"),
        ({"schema": {"type": "object", "required": ["total"]}}, True, ""),
        ({"schema": {"type": "array"}}, False, "not a list"),
        ({"expression": "{{ model_calls <= 3 and output.total == expected }}"}, True, ""),
        ({"expression": "{{ model_calls < 3 }}"}, False, "{{ model_calls < 3 }} is false"),
    ],
)
def test_verify_gives_a_verdict_with_its_reason(
    grader: dict[str, JsonValue], passed: bool, because: str
) -> None:
    found = verify(GraderDocument.model_validate(grader), FACTS)
    assert found.passed is passed
    assert because in found.because
    assert bool(found.because) is not passed


@pytest.mark.parametrize(
    ("grader", "because"),
    [
        ({"expression": "{{ output.total }}"}, "must give true or false, and gives 5"),
        ({"expression": "{{ output.missing > 1 }}"}, "output.missing has no value"),
        ({"of": "{{ output.totl }}", "exact": 5}, "output.totl has no value"),
        ({"exact": "{{ expected.total }}"}, "expected.total has no value"),
        ({"of": "{{ output.rows + 1 }}", "schema": {}}, "cannot be evaluated"),
    ],
)
def test_a_grader_that_cannot_be_evaluated_gives_no_verdict(
    grader: dict[str, JsonValue], because: str
) -> None:
    with pytest.raises(NoVerdict, match=because):
        verify(GraderDocument.model_validate(grader), FACTS)


def test_verify_never_renders_what_a_model_wrote() -> None:
    facts: Json = {"output": "{{ expected }}", "expected": "secret"}
    found = verify(GraderDocument.model_validate({"exact": "secret"}), facts)
    assert not found.passed


def test_a_grader_is_named_by_its_kind_and_number() -> None:
    grader = GraderDocument.model_validate({"command": "check"})
    assert (kind_of(grader), name_of(grader, 2)) == ("command", "command 2")
