"""Count what vendors limit in a JSON Schema: its own keywords only, not its literals."""

from collections.abc import Iterator

from coterie.dsl.values import Json, JsonValue

_MAPS = ("properties", "$defs", "definitions")
"""Keywords whose values are `{name: schema}`."""
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = ("items", "additionalProperties", "not")


def optional_keys(schema: Json | None) -> int:
    """Count the properties that their objects do not require."""
    return sum(len(_keys_of(one) - _required_keys(one)) for one, _ in _schemas(schema, 0))


def properties(schema: Json | None) -> int:
    """Count the properties of all objects."""
    return sum(len(_keys_of(one)) for one, _ in _schemas(schema, 0))


def union_types(schema: Json | None) -> int:
    """Count the schemas that allow values of several types."""
    return sum(_is_union(one) for one, _ in _schemas(schema, 0))


def enum_values(schema: Json | None) -> int:
    """Count the values of all enums."""
    enums = (one.get("enum") for one, _ in _schemas(schema, 0))
    return sum(len(values) for values in enums if isinstance(values, list))


def depth(schema: Json | None) -> int:
    """Count the levels of objects and arrays within each other."""
    return max((level for _, level in _schemas(schema, 0)), default=0)


def _schemas(schema: JsonValue, level: int) -> Iterator[tuple[Json, int]]:
    """Yield a schema and those within it, each with the level that it has."""
    if not isinstance(schema, dict):
        return
    inner = level + (bool(_keys_of(schema)) or "items" in schema)
    yield schema, inner
    for key in _MAPS:
        named = schema.get(key)
        for one in named.values() if isinstance(named, dict) else ():
            yield from _schemas(one, inner if key == "properties" else 0)
    for key in _LISTS:
        listed = schema.get(key)
        for one in listed if isinstance(listed, list) else ():
            yield from _schemas(one, inner)
    for key in _SINGLE:
        yield from _schemas(schema.get(key), inner)


def _is_union(schema: Json) -> bool:
    types = schema.get("type")
    return isinstance(types, list) or "anyOf" in schema or "oneOf" in schema


def _keys_of(schema: Json) -> set[str]:
    found = schema.get("properties")
    return set(found) if isinstance(found, dict) else set()


def _required_keys(schema: Json) -> set[str]:
    found = schema.get("required")
    return {str(one) for one in found} if isinstance(found, list) else set()
