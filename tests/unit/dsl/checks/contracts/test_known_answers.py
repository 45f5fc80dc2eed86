"""A schema tells which fields data can never have; what it leaves open stays open."""

import pytest
from pydantic import JsonValue

from coterie.dsl.checks.contracts.known_answers import (
    inlined,
    missing_field,
    resolved,
    schema_at,
)
from coterie.dsl.values import Json

CLOSED: Json = {"properties": {"b": {}, "a": {"type": "string"}}, "additionalProperties": False}


NOTHING: list[str] = []


def union(*forms: JsonValue, word: str = "anyOf") -> Json:
    return {word: [*forms]}


@pytest.mark.parametrize(
    ("schema", "path", "missing"),
    [
        (CLOSED, "c", ("c", ["a", "b"])),
        (CLOSED, "a.x", ("x", NOTHING)),
        ({"type": "string"}, "x", ("x", NOTHING)),
        ({"type": "integer"}, "0", ("0", NOTHING)),
        ({"type": "number"}, "x", ("x", NOTHING)),
        ({"type": "boolean"}, "x", ("x", NOTHING)),
        ({"type": "array"}, "x", ("x", ["a number"])),
        ({"type": "array", "items": CLOSED}, "0.c", ("c", ["a", "b"])),
        (union(CLOSED, {"type": "null"}), "c", ("c", ["a", "b"])),
        (union(CLOSED, {"type": "string"}, word="oneOf"), "c", ("c", ["a", "b"])),
        (union(CLOSED, union({"type": "array"})), "c", ("c", ["a", "a number", "b"])),
        (union(CLOSED, {"type": "string"}), "a.x", ("x", NOTHING)),
        ({"$ref": "#/$defs/C", "$defs": {"C": CLOSED}}, "c", ("c", ["a", "b"])),
    ],
)
def test_a_field_that_no_form_of_the_data_has_is_missing(
    schema: Json, path: str, missing: tuple[str, list[str]]
) -> None:
    found = missing_field(schema, path.split("."))
    assert found is not None
    assert (found.segment, found.known) == missing


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        (True, "x"),
        ({}, "x"),
        (CLOSED, "a"),
        (CLOSED, "b.x"),
        (CLOSED, "a.0"),
        ({"type": "null"}, "x"),
        ({"type": "array"}, "0.x"),
        ({"type": "array", "items": {}, "prefixItems": []}, "0.x"),
        ({"type": "array", "items": CLOSED, "prefixItems": []}, "0.c"),
        ({"properties": {"a": {}}}, "c"),
        ({"properties": {"a": {}}, "additionalProperties": True}, "c"),
        ({**CLOSED, "patternProperties": {}}, "c"),
        ({"additionalProperties": False}, "c"),
        ({**CLOSED, "allOf": []}, "c"),
        ({**CLOSED, "if": {}}, "c"),
        ({**CLOSED, "not": {}}, "c"),
        ({**CLOSED, "$ref": "#/nowhere"}, "c"),
        (union(CLOSED, {}), "c"),
        (union(CLOSED, {"properties": {"c": {}}}), "c"),
        ({"anyOf": "x"}, "c"),
    ],
)
def test_a_field_that_the_data_may_have_is_not_missing(schema: JsonValue, path: str) -> None:
    assert missing_field(schema, path.split(".")) is None


@pytest.mark.parametrize(("forms", "is_refused"), [(50, True), (51, False)])
def test_a_union_of_more_than_fifty_forms_stays_open(forms: int, is_refused: bool) -> None:
    assert (missing_field(union(*[CLOSED] * forms), ["c"]) is not None) is is_refused


def test_the_schema_at_a_path_is_the_one_its_references_lead_to() -> None:
    schema: Json = {
        "properties": {"list": {"type": "array", "items": {"$ref": "#/$defs/C"}}},
        "$defs": {"C": CLOSED},
    }
    assert schema_at(schema, []) == schema
    assert schema_at(schema, ["list", "3"]) == CLOSED
    assert schema_at(schema, ["list", "3", "a"]) == {"type": "string"}
    assert schema_at(schema, ["other"]) is None
    assert schema_at({"properties": {"u": union(CLOSED)}}, ["u"]) is None
    assert schema_at(True, []) is None


def test_a_reference_within_the_document_is_resolved_or_leads_nowhere() -> None:
    root: Json = {"$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"type": "null"}}, "x": [1]}
    assert resolved({"$ref": "#/$defs/A"}, root) == {"type": "null"}
    assert resolved({"$ref": "#"}, {"type": "null"}) == {"type": "null"}
    assert resolved({"$ref": "#/$defs/C"}, root) is None
    assert resolved({"$ref": "#/x/0"}, root) is None
    assert resolved({"$ref": 1}, root) == {"$ref": 1}
    assert resolved({"$ref": "#"}, {"$ref": "#"}) is None


def test_references_are_inlined_and_their_definitions_left_out() -> None:
    schema: Json = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"enum": [1, {"c": 2}]}},
        "$defs": {"A": {"items": {"$ref": "#/$defs/B"}}, "B": {"type": "null"}},
    }
    assert inlined(schema) == {
        "type": "object",
        "properties": {"a": {"items": {"type": "null"}}, "b": {"enum": [1, {"c": 2}]}},
    }
    assert inlined({"$ref": "#/nowhere"}) == {}


def test_a_recursive_schema_is_inlined_twelve_levels_deep_and_then_left_open() -> None:
    here: JsonValue = inlined({"items": {"$ref": "#"}})
    depth = 0
    while isinstance(here, dict) and "items" in here:
        here, depth = here["items"], depth + 1
    assert (here, depth) == ({}, 13)
