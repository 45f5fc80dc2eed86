"""No verdict on a value is wrong, and whatever schema is refused is refused for a listed reason.

`make schemas` asks the same of the official JSON Schema Test Suite.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import JsonValue

from coterie.dsl.json_schema.schema_checker import WORDS, answer_mismatches, mismatches
from coterie.dsl.json_schema.schema_problems import schema_problem, subschemas
from coterie.dsl.values import Json
from tests.schema_suite.__main__ import requirement
from tests.schema_suite.verdicts import (
    DRAFTS,
    OURS,
    REASONS,
    Case,
    Checker,
    Verdict,
    draft_schema,
    judge,
)
from tests.unit.dsl.json_schema.schema_cases import REFUSED, ROWS


def cases(draft: str) -> Iterator[Case]:
    """The rows of a draft."""
    for row in ROWS:
        if draft in row.drafts:
            values = [Verdict(one, True) for one in row.valid]
            values += [Verdict(one, False) for one in row.invalid]
            yield Case(str(row.schema), draft_schema(row.schema, draft), tuple(values))


@pytest.mark.parametrize("draft", DRAFTS)
def test_every_verdict_agrees_with_the_table(draft: str) -> None:
    judged = judge(cases(draft))
    assert judged.wrong == []
    assert judged.refused == {}
    assert min(judged.shown[True], judged.shown[False]) > 100


def odd_problem(schema: Json) -> str:
    return f"{len(schema)} is odd"


def test_a_wrong_verdict_and_a_refusal_without_a_listed_reason_are_found() -> None:
    schema: Json = {"type": "string"}
    case = Case("texts", schema, (Verdict("a", False, "a text"), Verdict(1, True)))
    assert judge([case]).wrong == ["texts: a text", "texts: 1"]
    judged = judge([case], Checker(odd_problem, OURS.holds))
    assert (judged.refused, judged.unlisted) == ({"texts": "1 is odd"}, ["1 is odd"])


def test_each_keyword_of_a_schema_has_a_verdict_of_each_kind() -> None:
    accepting, refusing = set[str](), set[str]()
    for row in ROWS:
        words = {word for one in subschemas(row.schema) for word in one}
        accepting |= words if row.valid else set()
        refusing |= words if row.invalid else set()
    assert set(WORDS) - accepting == set()
    assert set(WORDS) - refusing == set()


@pytest.mark.parametrize(("schema", "drafts", "reason"), REFUSED, ids=str)
def test_a_schema_that_cannot_be_judged_is_refused_for_a_listed_reason(
    schema: Json, drafts: tuple[str, ...], reason: str
) -> None:
    for draft in drafts:
        problem = schema_problem(draft_schema(schema, draft)) or ""
        assert reason in problem
        assert any(one in problem for one in REASONS), problem


def test_the_official_suite_is_fetched_with_the_digest_of_the_lock_file() -> None:
    assert requirement().startswith("jsonschema==")
    assert " --hash=sha256:" in requirement()


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"$ref": "#/$defs/none"}}},
        {"items": {"$ref": "#nowhere"}},
        {"$defs": {"x": {"$ref": "#/$defs/x"}}, "items": {"$ref": "#/$defs/x"}},
        {
            "properties": {"a": {"allOf": [{"$ref": "#/$defs/x"}]}},
            "$defs": {"x": {"anyOf": [{"$ref": "#/$defs/y"}]}, "y": {"not": {"$ref": "#/$defs/x"}}},
        },
    ],
)
def test_a_reference_below_the_root_is_refused_beforehand_when_it_leads_nowhere(
    schema: Json,
) -> None:
    assert "it refers to" in (schema_problem(schema) or "")


def test_a_schema_may_refer_to_itself_deeper_in_the_value() -> None:
    tree: Json = {"properties": {"below": {"items": {"$ref": "#"}}}}
    assert schema_problem(tree) is None


@pytest.mark.parametrize("word", ["const", "default"])
def test_schema_keywords_in_data_are_data(word: str) -> None:
    looks: JsonValue = {
        "$schema": "https://example.com",
        "$ref": "https://example.com",
        "pattern": "(",
        "patternProperties": 1,
        "dependencies": {},
        "format": "date",
    }
    schema: Json = {"properties": {"a": {word: looks}, "b": {"enum": [looks]}}, "examples": [looks]}
    assert schema_problem(schema) is None
    assert answer_mismatches({"a": looks, "b": looks}, schema) == []
    assert mismatches({"a": looks, "b": looks}, schema) == []
    assert answer_mismatches({"b": {}}, schema)


@pytest.mark.parametrize(
    ("schema", "value", "valid"),
    [
        ({"multipleOf": 0.01}, 19.99, True),
        ({"multipleOf": 0.01}, 19.995, False),
        ({"multipleOf": 0.1}, 1e308, True),
        ({"multipleOf": 0.5}, 10**400, True),
        ({"multipleOf": 3}, 10**400, False),
        ({"type": "integer"}, 10**400, True),
        ({"maximum": 1.5}, 10**400, False),
        ({"enum": [1]}, 10**400, False),
        ({"uniqueItems": True}, [10**400, 1.5, 10**400], False),
    ],
)
def test_numbers_are_checked_as_they_are_written(
    schema: Json, value: JsonValue, valid: bool
) -> None:
    assert OURS.holds(schema, value) is valid


_STEPS: dict[str, Any] = {
    f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 4} for n in range(12)
}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"$defs": {**_STEPS, "d12": True}, "$ref": "#/$defs/d0"}, 1),
        ({"pattern": "[ab]*a[ab]{20}c"}, "ab" * 5_000_000),
        ({"allOf": [{"enum": [[1] * 10_000]}] * 200}, [1] * 10_000),
        ({"allOf": [{"uniqueItems": True}] * 100}, [[n] for n in range(10_000)]),
    ],
)
def test_a_schema_that_would_take_long_is_given_up_for_an_answer(
    schema: Json, value: JsonValue
) -> None:
    with pytest.raises(Exception, match="it takes too long to check"):
        answer_mismatches(value, schema)
