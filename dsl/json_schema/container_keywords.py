"""The keywords of JSON Schema about mappings and lists."""

from collections.abc import Iterator
from itertools import islice
from typing import cast

from pydantic import JsonValue

from coterie.dsl.json_schema.keyword_check import (
    Check,
    canonical,
    names_steps,
    some_of,
    text_steps,
    weight,
)
from coterie.dsl.values import Json


def check_properties(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    """Check `properties`."""
    if isinstance(value, dict):
        named = cast("Json", schema["properties"])
        check.charge(names_steps(named))
        for key, below in named.items():
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
    check.charge(names_steps(value))
    for key in value:
        if key not in named:
            if below is False:
                check.charge(names_steps(named) + text_steps(key))
                allowed = some_of(sorted(named)) or "none"
                yield f"{where} has the key {key!r}; allowed: {allowed}"
            else:
                yield from check.errors(value[key], below, f"{where}.{key}", depth)


def check_required(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    """Check `required`."""
    if isinstance(value, dict):
        needed = cast("list[str]", schema["required"])
        check.charge(names_steps(needed))
        for key in needed:
            if key not in value:
                yield f"{where} lacks the key {key!r}"


def check_dependent(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    """Check `dependentRequired`."""
    if isinstance(value, dict):
        dependent = cast("dict[str, list[str]]", schema["dependentRequired"])
        check.charge(names_steps(dependent))
        for key, needed in dependent.items():
            if key in value:
                yield from check_required(check, {"required": list(needed)}, value, where, depth)


def check_dependent_schemas(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    """Check `dependentSchemas`."""
    if isinstance(value, dict):
        dependent = cast("Json", schema["dependentSchemas"])
        check.charge(names_steps(dependent))
        for key, below in dependent.items():
            if key in value:
                yield from check.errors(value, below, where, depth)


def check_names(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    """Check `propertyNames`."""
    if isinstance(value, dict):
        for key in value:
            check.charge(text_steps(key))
            key_name = f"the key {key!r} of {where}"
            yield from check.errors(key, schema["propertyNames"], key_name, depth)


def check_items(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    """Check `items`."""
    if isinstance(value, list):
        first = len(cast("list[JsonValue]", schema.get("prefixItems", [])))
        check.charge(names_steps(value[:first]))
        for index, item in islice(enumerate(value), first, None):
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
        maximum = cast("float", schema.get("maxContains", float("inf")))
        if not least <= count <= maximum:
            yield f"{where} has {count} of the entries that it must contain"


def check_unique(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    """Check `uniqueItems`."""
    if isinstance(value, list) and schema["uniqueItems"] is True:
        check.charge(weight(value))
        if len({canonical(item) for item in value}) < len(value):
            yield f"{where} has an entry twice"
