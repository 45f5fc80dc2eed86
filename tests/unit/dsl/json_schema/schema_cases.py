"""Schemas and values with their verdicts, by hand: at least one of each for every keyword."""

from typing import NamedTuple

from pydantic import JsonValue

from coterie.dsl.values import Json

ALL = ("draft2020-12", "draft2019-09", "draft7")
SINCE_2019 = ("draft2020-12", "draft2019-09")
ONLY_2020 = ("draft2020-12",)
OLDER = ("draft2019-09", "draft7")
ONLY_7 = ("draft7",)
ONLY_2019 = ("draft2019-09",)


class Row(NamedTuple):
    """A schema with values that meet it and values that do not."""

    schema: Json
    valid: tuple[JsonValue, ...]
    invalid: tuple[JsonValue, ...]
    drafts: tuple[str, ...] = ALL


_TREE: Json = {
    "$ref": "#/$defs/branch",
    "$defs": {
        "branch": {
            "type": "object",
            "required": ["height"],
            "properties": {
                "height": {"type": "number"},
                "twigs": {"type": "array", "items": {"$ref": "#/$defs/branch"}},
            },
        }
    },
}

ROWS = (
    # type
    Row({"type": "integer"}, (0, -4, 7.0, 1e20), (7.5, "7", True, None, [7], {})),
    Row({"type": "number"}, (0, 2.25, -1e-9), ("2.25", False, None, [])),
    Row({"type": "string"}, ("", "0", "\u00fc"), (0, None, ["a"], {"a": "b"})),
    Row({"type": "boolean"}, (True, False), (0, 1, "true", None)),
    Row({"type": "null"}, (None,), (0, "", False, [], {})),
    Row({"type": "array"}, ([], [None]), ({}, "[]", 0)),
    Row({"type": "object"}, ({}, {"a": None}), ([], "{}", None)),
    Row({"type": ["string", "null"]}, ("x", None), (0, [], False)),
    Row({"type": ["integer", "array"]}, (3, [3], 3.0), ("3", 3.5, {})),
    # enum and const
    Row({"enum": ["red", 3, None]}, ("red", 3, 3.0, None), ("Red", "3", False, 4, [])),
    Row({"enum": [[1, {"a": 2}]]}, ([1, {"a": 2}], [1.0, {"a": 2.0}]), ([1], [{"a": 2}, 1])),
    Row({"enum": [0]}, (0, 0.0), (False, "", None)),
    Row({"enum": [True]}, (True,), (1, 1.0, "true")),
    Row({"const": "on"}, ("on",), ("off", "ON", None)),
    Row({"const": 1}, (1, 1.0), (True, "1", [1])),
    Row({"const": False}, (False,), (0, 0.0, None)),
    Row({"const": {"a": [1, 2], "b": None}}, ({"b": None, "a": [1, 2]},), ({"a": [2, 1]}, {})),
    Row({"const": [{"k": False}]}, ([{"k": False}],), ([{"k": 0}], [{}], {"k": False})),
    # numbers
    Row({"minimum": 2}, (2, 2.0, 3, "1"), (1, 1.99, -3)),
    Row({"minimum": -1.5}, (-1.5, 0), (-2, -1.51)),
    Row({"maximum": 10}, (10, 9.9, -100, None), (10.1, 11)),
    Row({"exclusiveMinimum": 0}, (0.001, 5, "0"), (0, -1)),
    Row({"exclusiveMaximum": 0}, (-0.001, -5, []), (0, 0.0, 1)),
    Row({"minimum": 1, "exclusiveMaximum": 4}, (1, 3.9), (0.9, 4)),
    Row({"multipleOf": 5}, (0, 15, -10, 5.0, "7"), (7, 5.5)),
    Row({"multipleOf": 0.25}, (0.75, 2, 0), (0.3, 1.1)),
    Row({"multipleOf": 0.001}, (0.007, 1.5), (0.00751,)),
    # texts
    Row({"minLength": 2}, ("ab", "\U0001f600\U0001f600", 1), ("", "a", "\U0001f600")),
    Row({"maxLength": 2}, ("", "\U0001f600\U0001f600", [1, 2, 3]), ("abc",)),
    Row({"maxLength": 2.0}, ("ab",), ("abc",)),
    Row({"pattern": "^v[0-9]+$"}, ("v1", "v902", 5), ("v", "1v", "xv1")),
    Row({"pattern": "b+"}, ("abc", "bbb"), ("ac", "")),
    # arrays
    Row({"minItems": 1}, ([0], [None, 2], "", {}), ([],)),
    Row({"maxItems": 1}, ([], [[1, 2]], {"a": 1, "b": 2}), ([1, 2],)),
    Row({"uniqueItems": True}, ([], [1, "1", True], [{"a": 1}, {"a": 2}]), ([1, 1.0], [[], []])),
    Row({"uniqueItems": True}, ([0, False], [1, True], [[0], [False]]), ([{"a": 1}, {"a": 1.0}],)),
    Row({"uniqueItems": False}, ([1, 1],), (), ALL),
    Row({"items": {"type": "integer"}}, ([], [1, 2], {"0": "x"}), (["1"], [1, None])),
    Row({"items": False}, ([], "x"), ([1],)),
    Row({"items": {"items": {"minimum": 3}}}, ([[3], []], [[]]), ([[3], [2]],)),
    Row(
        {"prefixItems": [{"type": "string"}, {"minimum": 3}], "items": False},
        ([], ["a"], ["a", 3]),
        ([3], ["a", 2], ["a", 3, None]),
        ONLY_2020,
    ),
    Row(
        {"prefixItems": [True, False], "items": {"const": 0}},
        ([], [9]),
        ([9, 9], [9, 9, 0]),
        ONLY_2020,
    ),
    Row({"contains": {"const": 4}}, ([4], [1, 4], "x"), ([], [5], [[4]])),
    Row({"contains": False}, ("x", {}), ([], [1])),
    Row(
        {"contains": {"minimum": 10}, "minContains": 2, "maxContains": 3},
        ([10, 11], [10, 1, 12, 13]),
        ([10], [], [10, 11, 12, 13]),
        SINCE_2019,
    ),
    Row({"contains": {"const": 1}, "minContains": 0}, ([], [2]), (), SINCE_2019),
    Row({"maxContains": 1}, ([1, 1, 1],), (), SINCE_2019),
    # objects
    Row(
        {"properties": {"age": {"minimum": 0}, "name": {"type": "string"}}},
        ({}, {"age": 0}, {"name": "Ann", "other": 1}, [], "age"),
        ({"age": -1}, {"name": None}),
    ),
    Row({"properties": {"gone": False}}, ({}, {"here": 1}), ({"gone": None},)),
    Row({"properties": {"a\nb": {"type": "null"}, 'c"d': True}}, ({"a\nb": None},), ({"a\nb": 0},)),
    Row({"required": ["a", "b"]}, ({"a": 1, "b": None}, [], "a"), ({"a": 1}, {})),
    Row({"required": ["__proto__"]}, ({"__proto__": 1},), ({},)),
    Row(
        {"properties": {"a": True}, "additionalProperties": False},
        ({}, {"a": 1}, [1]),
        ({"b": 1}, {"a": 1, "b": 2}),
    ),
    Row({"additionalProperties": {"maximum": 1}}, ({}, {"x": 1}), ({"x": 2}, {"x": 1, "y": 2})),
    Row({"propertyNames": {"maxLength": 3}}, ({}, {"abc": 1}, ["abcd"]), ({"abcd": 1},)),
    Row({"propertyNames": {"enum": ["x"]}}, ({"x": 0}, {}), ({"y": 0}, {"x": 0, "y": 0})),
    Row({"propertyNames": False}, ({}, 3), ({"a": 1},)),
    Row({"minProperties": 1}, ({"a": None}, [], ""), ({},)),
    Row({"maxProperties": 1}, ({}, {"a": 1}, [1, 2]), ({"a": 1, "b": 1},)),
    Row(
        {"dependentRequired": {"card": ["address", "name"]}},
        ({}, {"name": 1}, {"card": 1, "address": 1, "name": 1}, "card"),
        ({"card": 1}, {"card": 1, "name": 1}),
        SINCE_2019,
    ),
    Row(
        {"dependentSchemas": {"card": {"required": ["name"], "maxProperties": 2}, "no": False}},
        ({}, {"a": 1, "b": 1, "c": 1}, {"card": 1, "name": 1}),
        ({"card": 1, "a": 1}, {"card": 1, "name": 1, "a": 1}, {"no": 1}),
        SINCE_2019,
    ),
    # combinations
    Row({"allOf": [{"minimum": 1}, {"maximum": 3}]}, (1, 3, "x"), (0, 4)),
    Row({"allOf": [True, {"type": "string"}]}, ("",), (0,)),
    Row({"allOf": [True, False]}, (), (0, "", None)),
    Row({"anyOf": [{"type": "string"}, {"minimum": 8}]}, ("x", 8, None), (7, 0.5)),
    Row({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, ({"a": 1}, {"a": 1, "b": 1}), ({},)),
    Row({"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}]}, (2, 3, 9), (6, 0, 5, "x")),
    Row({"oneOf": [{"type": "null"}, {"required": ["id"]}]}, ({"id": 1},), ({}, None)),
    Row({"not": {"type": "array"}}, ({}, 1), ([], [1])),
    Row({"not": {"not": {"const": 1}}}, (1,), (2, "1")),
    Row({"not": {}}, (), (1, None, {})),
    Row(
        {"if": {"minimum": 100}, "then": {"multipleOf": 100}, "else": {"minimum": 0}},
        (100, 300, 0, 99),
        (101, -1),
    ),
    Row({"if": {"type": "string"}, "then": {"minLength": 2}}, ("ab", 1, None), ("a", "")),
    Row({"if": {"const": 0}, "else": {"type": "string"}}, (0, "x"), (1, None)),
    Row({"then": {"const": 0}, "else": {"const": 1}}, (2, "x"), ()),
    # references
    Row(_TREE, ({"height": 1, "twigs": [{"height": 2, "twigs": []}]},), ({"twigs": []}, 3)),
    Row(_TREE, ({"height": 0.5},), ({"height": 1, "twigs": [{"height": "2"}]},)),
    Row({"properties": {"next": {"$ref": "#"}}, "required": ["n"]}, ({"n": 1},), ({"next": {}},)),
    Row(
        {"$defs": {"a/b": {"type": "null"}}, "items": {"$ref": "#/$defs/a~1b"}},
        ([None],),
        ([0],),
    ),
    Row(
        {"$defs": {"x~y": {"minimum": 1}}, "additionalProperties": {"$ref": "#/$defs/x~0y"}},
        ({"a": 1},),
        ({"a": 0},),
    ),
    Row(
        {
            "definitions": {"few": {"maximum": 3}},
            "properties": {"n": {"$ref": "#/definitions/few"}},
        },
        ({"n": 3},),
        ({"n": 4},),
    ),
    Row(
        {"$ref": "#/$defs/few", "minimum": 1, "$defs": {"few": {"maximum": 3}}},
        (1, 3),
        (0, 4),
        SINCE_2019,
    ),
    # what no other part of the schema has looked at
    Row(
        {"allOf": [{"properties": {"a": True}}], "unevaluatedProperties": False},
        ({}, {"a": 1}, []),
        ({"b": 1},),
        SINCE_2019,
    ),
    Row(
        {
            "$ref": "#named",
            "$defs": {"x": {"$anchor": "named", "properties": {"a": {"type": "integer"}}}},
            "unevaluatedProperties": {"type": "string"},
        },
        ({"a": 1, "b": "x"},),
        ({"a": "x"}, {"b": 1}),
        SINCE_2019,
    ),
    Row(
        {
            "if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
            "then": {"properties": {"b": True}},
            "else": {"properties": {"c": True}},
            "dependentSchemas": {"d": {"properties": {"d": True, "e": True}}},
            "not": {"required": ["never"]},
            "unevaluatedProperties": False,
        },
        ({"a": 1, "b": 2}, {"c": 1}, {"d": 1, "e": 2}),
        ({"a": 1, "c": 2}, {"a": 2}, {"b": 1}, {"e": 1}),
        SINCE_2019,
    ),
    Row(
        {
            "anyOf": [{"required": ["a"], "properties": {"a": True}}, {"properties": {"b": True}}],
            "oneOf": [{"maxProperties": 2, "unevaluatedProperties": True}, {"minProperties": 3}],
            "unevaluatedProperties": False,
        },
        ({"a": 1, "z": 2},),
        ({"a": 1, "b": 2, "z": 3},),
        SINCE_2019,
    ),
    Row(
        {
            "$dynamicRef": "#node",
            "$defs": {
                "x": {
                    "$dynamicAnchor": "node",
                    "properties": {"below": {"$dynamicRef": "#node"}, "n": {"type": "integer"}},
                    "additionalProperties": False,
                }
            },
        },
        ({"below": {"n": 1}}, 1),
        ({"below": {"n": "x"}}, {"m": 1}),
        ONLY_2020,
    ),
    Row(
        {"prefixItems": [{"const": 1}], "unevaluatedItems": False},
        ([], [1], {}),
        ([1, 2], [2]),
        ONLY_2020,
    ),
    Row(
        {
            "allOf": [{"contains": {"type": "string"}}, {"prefixItems": [True]}],
            "unevaluatedItems": {"type": "null"},
        },
        ([1, "a"], ["a", None, "b"]),
        ([1, 2, "a"], [1]),
        ONLY_2020,
    ),
    # annotations
    Row(
        {"format": "email", "title": "t", "description": "d", "default": 1, "examples": [{}]},
        ("no address", 1),
        (),
    ),
    Row(
        {"contentEncoding": "base64", "contentMediaType": "application/json"},
        ("{", 3),
        (),
        SINCE_2019,
    ),
    Row({"$comment": "for readers", "readOnly": True, "type": "string"}, ("x",), (1,)),
)

REFUSED: tuple[tuple[Json, tuple[str, ...], str], ...] = (
    ({"patternProperties": {"^n_": True}}, ALL, "patternProperties"),
    ({"dependencies": {"a": ["b"]}}, ALL, "dependencies"),
    ({"items": [{"type": "string"}]}, ALL, "items"),
    ({"items": [True], "additionalItems": False}, OLDER, "items"),
    ({"$recursiveRef": "#"}, ONLY_2019, "$recursive"),
    ({"$ref": "https://example.org/other.json"}, ALL, "refers to"),
    ({"$ref": "#/$defs/none"}, ALL, "refers to"),
    ({"items": {"$id": "https://example.org/a"}}, ALL, "$id"),
    ({"contentEncoding": "base64"}, ONLY_7, "is not checked"),
    ({"$ref": "#/$defs/a", "maximum": 1, "$defs": {"a": True}}, ONLY_7, "stands beside"),
    ({"pattern": "(a)\\1"}, ALL, "pattern"),
    ({"type": "text"}, ALL, "not a valid JSON Schema"),
    ({"minimum": "1"}, ALL, "not a valid JSON Schema"),
    ({"required": "a"}, ALL, "not a valid JSON Schema"),
    ({"allOf": []}, ALL, "not a valid JSON Schema"),
)
"""Schemas that are refused before a run, the drafts, and a part of the reason."""
