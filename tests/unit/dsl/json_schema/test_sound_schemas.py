"""What is called sound without the library is sound for the library too."""

from collections.abc import Iterator

from pydantic import JsonValue

from activities.answer_schema import schema_errors
from coterie.documents.product_capabilities import schema_problem
from coterie.documents.sound_schemas import certainly_sound
from dsl.values import Json

WORDS = (
    "type",
    "title",
    "description",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "anyOf",
    "oneOf",
    "allOf",
    "enum",
    "const",
    "default",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "pattern",
    "patternProperties",
    "$ref",
    "$defs",
    "not",
    "format",
    "unheard_of",
)
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
]
"""What fits one word or another, or none."""


def schemas() -> Iterator[Json]:
    """Every word with every value, alone and inside another schema."""
    for word in WORDS:
        for value in VALUES:
            one: Json = {word: value}
            yield one
            yield {"properties": {"b": one}}
            yield {"anyOf": [{"items": one}]}


def test_what_is_certainly_sound_is_sound_for_the_library() -> None:
    sound = [schema for schema in schemas() if certainly_sound(schema)]
    assert len(sound) > 200
    for schema in sound:
        schema_errors(None, schema)


SOUND: Json = {
    "type": "object",
    "title": "Review",
    "properties": {
        "verdict": {"enum": ["PASS", "FAIL", None]},
        "score": {"type": "integer", "minimum": 0, "exclusiveMaximum": 10.5, "default": 1},
        "files": {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
        "note": {"anyOf": [{"type": ["string", "null"]}, {"const": 0}], "description": "n"},
        "pattern": {"type": "string"},
    },
    "required": ["verdict", "score"],
    "additionalProperties": False,
}


def test_the_schemas_of_common_answers_are_certainly_sound() -> None:
    assert certainly_sound(SOUND)
    schema_errors(None, SOUND)


def test_what_may_be_wrong_is_left_to_the_library() -> None:
    doubtful: tuple[Json, ...] = (
        {"type": "text"},
        {"required": ["a", "a"]},
        {"items": [{}]},
        {"properties": []},
        {"enum": [{"pattern": "("}]},
        {"anyOf": []},
        {"minimum": True},
        {"minLength": -1},
        {"pattern": "a"},
        {"$ref": "#"},
        {"properties": {"a": {"unheard_of": 1}}},
    )
    assert not [schema for schema in doubtful if certainly_sound(schema)]
    assert schema_problem({"type": "text"}) is not None
    assert schema_problem({"pattern": "a"}) is None
