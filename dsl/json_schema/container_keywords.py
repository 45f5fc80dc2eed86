"""The keywords of JSON Schema about mappings and lists."""

from collections.abc import Iterator
from typing import cast

from pydantic import JsonValue

from dsl.errors import listed
from dsl.json_schema.keyword_check import Check, canonical, weight
from dsl.values import Json


def check_properties(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    """Check `properties`."""
    if isinstance(value, dict):
        for key, below in cast("Json", schema["properties"]).items():
            if key in value:
                yield from check.errors(value[key], below, f"{where}.{key}", depth)


def check_additional(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    """Check `additionalProperties`."""
    if not isinstance(value, dict):
        return
    named = cast("Json", schema.get("properties", {}))
    below = schema["additionalProperties"]
    for key in value:
        if key not in named:
            if below is False:
                yield f"{where} has the key {key!r}; allowed: {listed(named) or 'none'}"
            else:
                yield from check.errors(value[key], below, f"{where}.{key}", depth)


def check_required(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    """Check `required`."""
    if isinstance(value, dict):
        for key in cast("list[str]", schema["required"]):
            if key not in value:
                yield f"{where} lacks the key {key!r}"


def check_dependent(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    """Check `dependentRequired`."""
    if isinstance(value, dict):
        for key, needed in cast("dict[str, list[str]]", schema["dependentRequired"]).items():
            if key in value:
                yield from check_required(check, {"required": list(needed)}, value, where, depth)


def check_dependent_schemas(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    """Check `dependentSchemas`."""
    if isinstance(value, dict):
        for key, below in cast("Json", schema["dependentSchemas"]).items():
            if key in value:
                yield from check.errors(value, below, where, depth)


def check_names(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    """Check `propertyNames`."""
    if isinstance(value, dict):
        for key in value:
            key_name = f"the key {key!r} of {where}"
            yield from check.errors(key, schema["propertyNames"], key_name, depth)


def check_items(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    """Check `items`."""
    if isinstance(value, list):
        first = len(cast("list[JsonValue]", schema.get("prefixItems", [])))
        for index, item in enumerate(value[first:], first):
            yield from check.errors(item, schema["items"], f"{where}[{index}]", depth)


def check_prefix(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    """Check `prefixItems`."""
    if isinstance(value, list):
        pairs = zip(value, cast("list[JsonValue]", schema["prefixItems"]), strict=False)
        for index, (item, below) in enumerate(pairs):
            yield from check.errors(item, below, f"{where}[{index}]", depth)


def check_contains(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    """Check `contains`, with its minimum and maximum."""
    if isinstance(value, list):
        count = sum(check.fits(item, schema["contains"], depth) for item in value)
        least = cast("int", schema.get("minContains", 1))
        most = cast("float", schema.get("maxContains", float("inf")))
        if not least <= count <= most:
            yield f"{where} has {count} of the entries that it must contain"


def check_unique(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    """Check `uniqueItems`."""
    if isinstance(value, list) and schema["uniqueItems"] is True:
        check.charge(weight(value))
        if len({canonical(item) for item in value}) < len(value):
            yield f"{where} has an entry twice"
