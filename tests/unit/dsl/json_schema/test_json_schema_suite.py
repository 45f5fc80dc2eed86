"""The official JSON Schema Test Suite: no verdict is wrong, whatever is refused is listed."""

import json
from collections import Counter
from typing import Any, NamedTuple

import pytest
from pydantic import JsonValue

from activities.answer_schema import schema_errors, schema_problem
from dsl.json_schema.schema_checker import beyond, mismatches
from dsl.values import Json
from tests.law.sources import ROOT

SUITE = ROOT / "tests/data/json_schema_suite"
DRAFTS = {
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft7": "http://json-schema.org/draft-07/schema#",
}
MOST_REFUSED = {"draft2020-12": 180, "draft2019-09": 180, "draft7": 110}
"""Schemas of answers that are refused at most; the reasons are in `REASONS`."""
REASONS = (
    "patternProperties",
    "refers to",
    "$id",
    "$schema",
    "dependencies",
    "additionalItems",
    "$recursive",
    "pattern",
    "stands beside",
    "is not checked",
    "not a valid JSON Schema",
    "without end",
    "is not supported here",
)


class Case(NamedTuple):
    """One schema of the suite and its tests."""

    name: str
    schema: Json
    tests: list[dict[str, Any]]


def cases(draft: str) -> list[Case]:
    """Of the draft; a schema says its draft, as the suite's folder does."""
    found: list[Case] = []
    for one in json.loads((SUITE / f"{draft}.json").read_text()):
        given = one["schema"] if isinstance(one["schema"], dict) else {"allOf": [one["schema"]]}
        schema: Json = {"$schema": DRAFTS[draft], **given}
        found.append(Case(f"{one['file']}: {one['description']}", schema, one["tests"]))
    return found


def in_answers(schema: Json, value: JsonValue) -> bool:
    return not schema_errors(value, schema)


def in_changes(schema: Json, value: JsonValue) -> bool:
    return not mismatches(value, schema)


@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize("holds", [in_answers, in_changes])
def test_every_verdict_agrees_with_the_official_suite(draft: str, holds: Any) -> None:
    wrong: list[str] = []
    shown: Counter[bool] = Counter()
    for case in cases(draft):
        problem = schema_problem(case.schema) or (
            beyond(case.schema) if holds is in_changes else None
        )
        if problem is not None:
            continue
        for test in case.tests:
            verdict = holds(case.schema, test["data"])
            shown[verdict] += 1
            if verdict is not test["valid"]:
                wrong.append(f"{case.name}: {test['description']}")
    assert wrong == []
    assert min(shown[True], shown[False]) > 250  # it was not all refused


@pytest.mark.parametrize("draft", DRAFTS)
def test_every_schema_of_the_suite_that_is_refused_is_refused_for_a_listed_reason(
    draft: str,
) -> None:
    refused = [
        problem for case in cases(draft) if (problem := schema_problem(case.schema)) is not None
    ]
    assert [
        problem for problem in refused if not any(reason in problem for reason in REASONS)
    ] == []
    assert len(refused) <= MOST_REFUSED[draft]


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
    assert "it refers to" in (beyond(schema) or "")


def test_a_schema_may_refer_to_itself_deeper_in_the_value() -> None:
    tree: Json = {"properties": {"below": {"items": {"$ref": "#"}}}}
    assert schema_problem(tree) is None
    assert beyond(tree) is None


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
    assert beyond(schema) is None
    assert schema_errors({"a": looks, "b": looks}, schema) == []
    assert mismatches({"a": looks, "b": looks}, schema) == []
    assert schema_errors({"b": {}}, schema)


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
    assert in_answers(schema, value) is valid
    assert in_changes(schema, value) is valid


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
        schema_errors(value, schema)
