"""The keywords of JSON Schema that are checked inside a run; here, those that combine schemas."""

from collections.abc import Iterator
from itertools import islice
from typing import cast

from pydantic import JsonValue

from coterie.dsl.json_schema import container_keywords as containers
from coterie.dsl.json_schema import value_keywords as values
from coterie.dsl.json_schema.keyword_check import (
    MAX_ERRORS,
    Check,
    UnusableSchema,
    Word,
    excerpt,
    text_steps,
)
from coterie.dsl.json_schema.references import is_own, target_of
from coterie.dsl.values import Json


def _all(check: Check, schema: Json, value: JsonValue, where: str, depth: int) -> Iterator[str]:
    for below in cast("list[JsonValue]", schema["allOf"]):
        yield from check.errors(value, below, where, depth)


def _any(check: Check, schema: Json, value: JsonValue, where: str, depth: int) -> Iterator[str]:
    found: list[list[str]] = []
    for below in cast("list[JsonValue]", schema["anyOf"]):
        errors = list(islice(check.errors(value, below, where, depth), MAX_ERRORS))
        if not errors:
            return
        found.append(errors)
    yield from min(found, key=len)  # the closest alternative gives the most useful error


def _one(check: Check, schema: Json, value: JsonValue, where: str, depth: int) -> Iterator[str]:
    forms = cast("list[JsonValue]", schema["oneOf"])
    fitting = sum(check.fits(value, below, depth) for below in forms)
    if fitting == 0:
        yield from _any(check, {"anyOf": forms}, value, where, depth)
    elif fitting > 1:
        yield f"{where} fits {fitting} forms of which it must fit one"


def _not(check: Check, schema: Json, value: JsonValue, where: str, depth: int) -> Iterator[str]:
    if check.fits(value, schema["not"], depth):
        yield f"{where} is {excerpt(value)}, which is excluded"


def _if(check: Check, schema: Json, value: JsonValue, where: str, depth: int) -> Iterator[str]:
    branch = "then" if check.fits(value, schema["if"], depth) else "else"
    if branch in schema:
        yield from check.errors(value, schema[branch], where, depth)


def _ref(check: Check, schema: Json, value: JsonValue, where: str, depth: int) -> Iterator[str]:
    reference = cast("str", schema["$ref"])
    check.charge(text_steps(reference))
    if not is_own(reference):
        raise UnusableSchema(f"it refers to {reference!r}")
    below = target_of(check.root, reference, {})
    if below is None:
        raise UnusableSchema(f"it refers to {reference!r}, which it does not define")
    yield from check.errors(value, below, where, depth)


WORDS: dict[str, Word] = {
    "type": values.check_type,
    "enum": values.check_enum,
    "const": values.check_const,
    "minimum": values.bound_check("minimum", "at least", lambda number, limit: number >= limit),
    "maximum": values.bound_check("maximum", "at most", lambda number, limit: number <= limit),
    "exclusiveMinimum": values.bound_check(
        "exclusiveMinimum", "more than", lambda n, limit: n > limit
    ),
    "exclusiveMaximum": values.bound_check(
        "exclusiveMaximum", "less than", lambda n, limit: n < limit
    ),
    "multipleOf": values.bound_check("multipleOf", "a multiple of", values.is_multiple),
    "minLength": values.size_check("minLength", str, True, "characters"),
    "maxLength": values.size_check("maxLength", str, False, "characters"),
    "pattern": values.check_pattern,
    "required": containers.check_required,
    "properties": containers.check_properties,
    "additionalProperties": containers.check_additional,
    "propertyNames": containers.check_names,
    "dependentRequired": containers.check_dependent,
    "dependentSchemas": containers.check_dependent_schemas,
    "minProperties": values.size_check("minProperties", dict, True, "keys"),
    "maxProperties": values.size_check("maxProperties", dict, False, "keys"),
    "items": containers.check_items,
    "prefixItems": containers.check_prefix,
    "contains": containers.check_contains,
    "uniqueItems": containers.check_unique,
    "minItems": values.size_check("minItems", list, True, "entries"),
    "maxItems": values.size_check("maxItems", list, False, "entries"),
    "allOf": _all,
    "anyOf": _any,
    "oneOf": _one,
    "not": _not,
    "if": _if,
    "$ref": _ref,
}
"""Every keyword that is checked; all other keywords are annotations."""
