"""What is a JSON Schema and what is none: the library's verdict, for every keyword."""

from collections.abc import Iterator
from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from jsonschema_specifications import REGISTRY  # pyright: ignore[reportMissingTypeStubs]
from pydantic import JsonValue

from coterie.dsl.json_schema.schema_grammar import grammar_problem
from coterie.dsl.json_schema.schema_problems import schema_problem
from coterie.dsl.values import Json


def keywords() -> set[str]:
    """Every keyword of the draft, as its own vocabularies list them."""
    names: set[str] = set()
    for uri in REGISTRY:
        if "2020-12" in uri:
            vocabulary = cast("dict[str, Any]", REGISTRY.contents(uri))
            names |= set(vocabulary.get("properties", {}))
    return names - REFUSED


REFUSED = {"$recursiveAnchor", "$recursiveRef", "dependencies"}
"""Keywords of earlier drafts, which `schema_problem` refuses by name."""

VALUES: list[JsonValue] = [
    "object",
    "text",
    "(",
    "#/$defs/a",
    None,
    True,
    False,
    0,
    1,
    -1,
    2.5,
    3.0,
    [],
    {},
    [{}],
    [True],
    ["object"],
    ["object", "null"],
    ["object", "object"],
    ["a", "b"],
    ["a", "a"],
    ["a", 1],
    [1, 1],
    {"a": {}},
    {"a": False},
    {"a": 1},
    {"type": "object"},
    {"type": "text"},
    {"pattern": "("},
    [{"pattern": "("}],
    {"a": {"pattern": "("}},
    {"patternProperties": {}},
    {"patternProperties": {"a": {}}},
    {"$ref": "x"},
    [{"$ref": "x"}],
    {"a": {"$ref": "x"}},
    {"$ref": {"type": "string"}},
    {"pattern": {"type": "string"}},
    ["object", 1],
    {"a": ["b"]},
    {"a": ["b", "b"]},
    {"a": True},
    {"a": None},
    "a#",
    "a#b",
    "",
    "1a",
    -0.5,
    1e300,
]
"""Values that fit one keyword or another, or none."""


def schemas() -> Iterator[Json]:
    """Every keyword with every value, alone and inside another schema."""
    for keyword in sorted(keywords() | {"unheard_of"}):
        for value in VALUES:
            one: Json = {keyword: value}
            yield one
            yield {"properties": {"b": one}}
            yield {"anyOf": [{"items": one}]}


def is_schema(schema: Json) -> bool:
    """The library's verdict; a pattern is a matter of RE2, and of `schema_problem`."""
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return error.validator == "format"
    return True


def test_every_verdict_is_the_librarys() -> None:
    different = [one for one in schemas() if (grammar_problem(one) is None) is not is_schema(one)]
    assert different == []


@pytest.mark.parametrize("keyword", sorted(REFUSED))
def test_a_keyword_of_an_earlier_draft_is_refused_by_name(keyword: str) -> None:
    assert f"`{keyword}` is not supported" in (schema_problem({keyword: {}}) or "")


FAULTS: list[tuple[Json, str]] = [
    (
        {"properties": {"a": {"type": "objekt"}}},
        "$.properties.a.type: 'objekt' is not one of object, array, string, integer, number, "
        "boolean, null, or a list of them",
    ),
    ({"required": ["a", "a"]}, "$.required: ['a', 'a'] is not a list of different keys"),
    ({"anyOf": []}, "$.anyOf: [] is not a list of schemas"),
    ({"items": [{}]}, "$.items: [{}] is not a schema: a mapping, true or false"),
    ({"allOf": [{}, {"minLength": -1}]}, "$.allOf[1].minLength: -1 is not a whole number"),
]


@pytest.mark.parametrize(("schema", "message"), FAULTS)
def test_a_fault_names_its_place_the_value_and_what_belongs_there(
    schema: Json, message: str
) -> None:
    assert (schema_problem(schema) or "").startswith(f"it is not a valid JSON Schema, at {message}")


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"pattern": "("}, "its pattern '(' is not supported"),
        ({"items": {"pattern": "a(?=b)"}}, "is not supported"),
        ({"$ref": "other.json"}, "it refers to 'other.json'"),
        ({"patternProperties": {}}, "`patternProperties` is not supported"),
        ({"$ref": "#/$defs/a"}, "which it does not define"),
    ],
)
def test_a_schema_that_reaches_out_or_takes_long_is_refused(schema: Json, message: str) -> None:
    assert message in (schema_problem(schema) or "")


SOUND: Json = {
    "type": "object",
    "title": "Review",
    "properties": {
        "verdict": {"enum": ["PASS", "FAIL", None]},
        "score": {"type": "integer", "minimum": 0, "exclusiveMaximum": 10.5, "default": 1},
        "files": {"type": "array", "items": {"$ref": "#/$defs/file"}, "minItems": 1},
        "note": {"anyOf": [{"type": ["string", "null"]}, {"const": 0}], "description": "n"},
        "pattern": {"type": "string", "pattern": "^a"},
    },
    "required": ["verdict", "score"],
    "additionalProperties": False,
    "$defs": {"file": {"type": "string", "minLength": 1}},
}


def test_the_schema_of_a_common_answer_has_no_fault() -> None:
    assert schema_problem(SOUND) is None
