"""Schemas and values that are cheap to write and would be dear to check."""

from coterie.dsl.values import Json, JsonValue

_LIST: JsonValue = list(range(100_000))
_KEYS_5000: Json = {f"k{n}": 1 for n in range(5000)}
_NAMES: JsonValue = list(_KEYS_5000)
_NONE_NEEDED: JsonValue = {f"q{n}": [] for n in range(5000)}
_LARGE_PATTERNS: JsonValue = [{"pattern": "(a{1,30}b){1,30}c" + str(n)} for n in range(3000)]


def _often(schema: Json) -> Json:
    form: JsonValue = {"$ref": "#/$defs/one"}
    forms: JsonValue = [form for _ in range(16_000)]
    return {"$defs": {"one": schema}, "anyOf": forms}


HOSTILE_SCHEMAS: list[tuple[Json, JsonValue]] = [
    ({"anyOf": [{"const": n} for n in range(8000)]}, _LIST),
    ({"anyOf": [{"enum": [n]} for n in range(8000)]}, _LIST),
    ({"anyOf": [{"not": {"minItems": n}} for n in range(8000)]}, _LIST),
    ({"anyOf": [{"maximum": n} for n in range(8000)]}, 10**4000),
    ({"anyOf": [{"multipleOf": 10**2000 + n} for n in range(8000)]}, 10**4000),
    ({"anyOf": _LARGE_PATTERNS}, "a"),
    (_often({"uniqueItems": True, "not": {}}), [10**4000 + n for n in range(99)]),
    (_often({"items": False}), _LIST),
    (_often({"prefixItems": list[JsonValue]([True] * 5000), "items": False, "not": {}}), _LIST),
    (_often({"properties": _KEYS_5000 | {"z": True}, "not": {}}), {"z": 1}),
    (_often({"properties": _KEYS_5000, "additionalProperties": False}), {"z": 1}),
    (_often({"additionalProperties": False}), {"z" * 900_000: 1}),
    (_often({"propertyNames": {"const": 1}}), {"z" * 900_000: 1}),
    (_often({"required": _NAMES, "not": {}}), _KEYS_5000),
    (_often({"dependentRequired": {"k1": _NAMES}, "not": {}}), _KEYS_5000),
    (
        _often({"dependentRequired": _NONE_NEEDED, "not": {}}),
        _KEYS_5000,
    ),
    (_often({"dependentSchemas": {f"q{n}": True for n in range(5000)}, "not": {}}), _KEYS_5000),
    (_often({"type": list[JsonValue](["null"] * 5000)}), 1),
    (_often({"allOf": [{"properties": _KEYS_5000}], "unevaluatedProperties": False}), {"z": 1}),
    (
        _often(
            {
                "dependentSchemas": {f"q{n}": True for n in range(5000)},
                "unevaluatedProperties": True,
                "not": {},
            }
        ),
        _KEYS_5000,
    ),
    (_often({"contains": {"const": 1}, "unevaluatedItems": True}), _LIST),
]
