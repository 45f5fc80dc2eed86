"""A schema that some vendor refuses is rewritten for the model, and a call finds its way back."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import JsonValue

from coterie.dsl.json_schema.offered_schema import offered_names, offered_schema, own_arguments
from coterie.dsl.json_schema.schema_checker import mismatches
from coterie.dsl.model.vendors.vendor_rules import TOOL_SCHEMA_RULES, ToolSchemaRule
from coterie.dsl.model.vendors.vendors import refusing_apis
from coterie.dsl.values import Json

STRING: Json = {"type": "string"}


def of(properties: Json, **more: Any) -> Json:
    return {"type": "object", "properties": properties, **more}


# rule: (schema, what the model writes, what the tool gets)
TABLE: list[tuple[ToolSchemaRule, Json, Json, Json]] = [
    (
        "forms_at_root",
        {"type": "object", "anyOf": [of({"id": STRING}, required=["id"]), of({"q": STRING})]},
        {"id": "a"},
        {"id": "a"},
    ),
    (
        "forms_at_root",
        of({"a": STRING}, oneOf=[{"required": ["a"]}, {"required": ["b"]}]),
        {"a": "x"},
        {"a": "x"},
    ),
    (
        "forms_at_root",
        {"type": "object", "allOf": [of({"a": STRING}, required=["a"]), of({"$b": STRING})]},
        {"a": "x", "b": "y"},
        {"a": "x", "$b": "y"},
    ),
    (
        "forms_at_root",
        {"type": "object", "$ref": "#/$defs/it", "$defs": {"it": of({"$a": STRING})}},
        {"a": "x"},
        {"$a": "x"},
    ),
    (
        "forms_at_root",
        of({"a": STRING}, **{"if": of({"a": {"const": "x"}}), "then": {"required": ["a"]}}),
        {"a": "x"},
        {"a": "x"},
    ),
    ("forms_at_root", of({"a": STRING}, **{"not": {"required": ["b"]}}), {"a": "x"}, {"a": "x"}),
    ("property_name", of({"$top": STRING}, required=["$top"]), {"top": "1"}, {"$top": "1"}),
    (
        "property_name",
        of({"filter[name]": STRING, "filter_name": STRING}),
        {"filter_name_2": "x", "filter_name": "y"},
        {"filter[name]": "x", "filter_name": "y"},
    ),
    ("property_name", of({"": STRING, "größe": STRING}), {"argument": "x"}, {"": "x"}),
    ("property_name", of({"n" * 80: STRING}), {"n" * 56: "x"}, {"n" * 80: "x"}),
    (
        "property_name",
        of({"rows": {"type": "array", "items": of({"a b": STRING})}}),
        {"rows": [{"a_b": "x"}]},
        {"rows": [{"a b": "x"}]},
    ),
    (
        "property_name",
        of({"x": {"anyOf": [{"type": "null"}, of({"@id": STRING})]}}),
        {"x": {"id": "1"}},
        {"x": {"@id": "1"}},
    ),
    (
        "property_name",
        of({"x": {"$ref": "#/$defs/n"}}, **{"$defs": {"n": of({"@id": STRING})}}),
        {"x": {"id": "1"}},
        {"x": {"@id": "1"}},
    ),
    (
        "property_name",
        of({}, additionalProperties=of({"@id": STRING})),
        {"any": {"id": "1"}},
        {"any": {"@id": "1"}},
    ),
    ("array_without_items", of({"a": {"type": "array"}}), {"a": [1]}, {"a": [1]}),
    ("array_without_items", of({"a": {"type": ["array", "null"]}}), {"a": [1]}, {"a": [1]}),
    ("array_without_items", of({"a": {"type": "array", "prefixItems": [STRING]}}), {}, {}),
    (
        "items_of_tuple",
        of({"a": {"type": "array", "items": [STRING, of({"@id": STRING})]}}),
        {"a": ["x", {"id": "1"}]},
        {"a": ["x", {"@id": "1"}]},
    ),
    ("boolean_schema", of({"a": True}), {"a": 1}, {"a": 1}),
    ("boolean_schema", of({"a": {"type": "array", "items": True}}), {"a": [1]}, {"a": [1]}),
    ("boolean_schema", of({"a": {"anyOf": [True]}}), {"a": 1}, {"a": 1}),
    ("required_unknown", of({"a": STRING}, required=["a", "b"]), {"a": "x"}, {"a": "x"}),
    ("reference_outside", of({"a": {"$ref": "https://example.com/s.json"}}), {"a": 1}, {"a": 1}),
]


def faults(schema: JsonValue, *, root: bool = True) -> Iterator[str]:
    """What vendors refuse, by rules written apart from the product."""
    if not isinstance(schema, dict):
        yield f"no schema: {schema}"
        return
    if root:
        yield from (f"{word} at the root" for word in ROOT if word in schema)
    known = mapping(schema, "properties")
    if root and (schema.get("type") != "object" or "properties" not in schema):
        yield "no object"
    if "array" in str(schema.get("type")) and not isinstance(schema.get("items"), dict):
        yield "no items"
    yield from (f"name {name!r}" for name in known if not NAME.fullmatch(name))
    if "properties" in schema and {*names(schema, "required")} - known.keys():
        yield "required"
    if not str(schema.get("$ref", "#")).startswith("#"):
        yield "reference"
    below = [*known.values(), *mapping(schema, "$defs").values()]
    below += [schema[key] for key in ("items", "additionalProperties") if is_schema(schema, key)]
    for word in ("anyOf", "oneOf", "allOf", "prefixItems"):
        below += names(schema, word)
    for one in below:
        yield from faults(one, root=False)


def mapping(schema: Json, key: str) -> Json:
    found = schema.get(key)
    return found if isinstance(found, dict) else {}


def names(schema: Json, key: str) -> list[Any]:
    found = schema.get(key)
    return found if isinstance(found, list) else []


def is_schema(schema: Json, key: str) -> bool:
    return isinstance(schema.get(key), dict) or (key == "items" and key in schema)


NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
ROOT = ("anyOf", "oneOf", "allOf", "not", "if", "then", "else", "enum", "const", "$ref")


@pytest.mark.parametrize(("rule", "schema", "given", "own"), TABLE)
def test_a_refused_schema_is_rewritten_and_its_calls_get_their_own_names(
    rule: ToolSchemaRule, schema: Json, given: Json, own: Json
) -> None:
    before = repr(schema)
    offered = offered_schema(schema)
    assert rule in offered.rules
    assert list(faults(schema)) != []
    assert list(faults(offered.schema)) == []
    assert own_arguments(schema, given) == own
    assert own_arguments(schema, own) == own  # a model that knows the own names
    assert repr(schema) == before
    again = offered_schema(offered.schema)
    assert (again.schema, again.rules) == (offered.schema, ())
    if rule != "reference_outside" and rule != "items_of_tuple":
        assert mismatches(given, offered.schema, "it") == []


def test_every_rule_has_a_case_and_vendors() -> None:
    assert {rule for rule, *_ in TABLE} == TOOL_SCHEMA_RULES.keys()
    assert all(map(refusing_apis, TOOL_SCHEMA_RULES))


@pytest.mark.parametrize(
    "schema",
    [
        of({"a": STRING, "b": {"type": "array", "items": {}}}, additionalProperties=False),
        of({"x.y-z": {"anyOf": [STRING, {"type": "null"}]}}, required=["x.y-z"]),
        of({"a": {"$ref": "#/$defs/n"}}, **{"$defs": {"n": of({"n": {"$ref": "#/$defs/n"}})}}),
        of({"items": STRING, "required": STRING, "anyOf": STRING}),
        of({"a": {"enum": [True, []], "default": {"$top": 1}, "const": {"type": "array"}}}),
    ],
)
def test_a_schema_that_every_vendor_takes_stays_as_it_is(schema: Json) -> None:
    assert offered_schema(schema) == (schema, ())


def test_words_keep_what_a_root_may_not_say() -> None:
    schema = of({"a": STRING}, oneOf=[{"required": ["a"]}, {"required": ["b"]}], description="Go.")
    said = offered_schema(schema).schema["description"]
    assert said == (
        'Go. The arguments must also match the JSON Schema {"oneOf": [{"required": ["a"]}, '
        '{"required": ["b"]}]}'
    )


def test_names_stay_apart() -> None:
    names = offered_names(dict.fromkeys(["$a", "@a", "a", "a_2", "", " "]))
    assert len({*names.values()}) == 6
    assert (names["a"], names["a_2"]) == ("a", "a_2")


def test_deep_and_recursive_schemas_end() -> None:
    node = of({"@next": {"$ref": "#/$defs/n"}})
    schema = of({"x": {"$ref": "#/$defs/n"}}, **{"$defs": {"n": node}})
    value: JsonValue = "end"
    for _ in range(60):
        value = {"next": value}
    made = own_arguments(schema, {"x": value})
    assert str(made).count("@next") >= 25
    loop: Json = {"type": "object", "$ref": "#", "allOf": [{"$ref": "#"}]}
    assert offered_schema(loop).schema["properties"] == {}
