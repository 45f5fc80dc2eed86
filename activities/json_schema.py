"""JSON Schema (draft 2020-12) over values that a model made, with a schema that anyone wrote.

A schema comes in with a run, so it gets no power: no reference leaves it, and its patterns run
in linear time.
"""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, cast

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import SchemaError
from jsonschema.exceptions import best_match as _best_match  # pyright: ignore[reportUnknownVariableType]
from jsonschema.validators import extend as _extend  # pyright: ignore[reportUnknownVariableType]
from pydantic import JsonValue
from referencing import Registry
from referencing.exceptions import Unresolvable

from dsl.regular_expressions import pattern as linear
from dsl.values import Json

MOST_ERRORS = 10
"""How many errors are told of one value."""

_MOST_LOOKED_AT = 200
_LONGEST_ERROR = 240
_HOLD_SCHEMAS = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})
_OWN_REFERENCE = re.compile(r"#|#/(\$defs|definitions)/[^/]+|#[A-Za-z_][\w.-]*")


class SchemaFault(Exception):
    """The schema itself cannot be used."""


def schema_errors(value: JsonValue, schema: Json) -> list[str]:
    """What is wrong with the value, each as `$.path: what`; empty when it meets the schema.

    Raises:
        SchemaFault: the schema is none, refers to something outside itself, or never ends.
    """
    try:
        validator = _validator(json.dumps(schema))
        errors = cast("Iterator[ValidationError]", cast("Any", validator).iter_errors(value))
        found = list(islice(errors, _MOST_LOOKED_AT))
    except Unresolvable as error:
        missing: str = getattr(error, "anchor", error.ref)
        raise SchemaFault(f"it refers to '#{missing}', which is not in it") from None
    except RecursionError:
        raise SchemaFault("it refers to itself without end") from None
    found.sort(key=lambda error: [str(part) for part in error.absolute_path])
    told = list(dict.fromkeys(map(_told, found)))
    return [*told[:MOST_ERRORS], "and others"] if len(told) > MOST_ERRORS else told


def schema_fault(schema: Json) -> str | None:
    """Why the schema cannot be used, or None when it can: what a compiler asks beforehand."""
    try:
        _validator(json.dumps(schema))
    except SchemaFault as fault:
        return str(fault)
    return None


@lru_cache(maxsize=128)
def _validator(schema_text: str) -> Draft202012Validator:
    """The validator of a schema; kept, because checking a schema costs more than an answer."""
    schema: Json = json.loads(schema_text)
    for node in _subschemas(schema):
        # Always this draft: another one's validator would come with its own pattern matching.
        node.pop("$schema", None)
        _refuse_power(node)
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        fault = f"it is no JSON Schema, at {error.json_path}: {_short(error.message)}"
        raise SchemaFault(fault) from None
    return _Validator(schema, registry=Registry())


def _subschemas(node: JsonValue) -> Iterator[Json]:
    """Every schema within a schema, and whatever else could be referred to as one."""
    if isinstance(node, list):
        for item in node:
            yield from _subschemas(item)
    elif isinstance(node, dict):
        yield node
        for key, value in node.items():
            if key in _HOLD_SCHEMAS and isinstance(value, dict):
                yield from _subschemas(list(value.values()))
            else:
                yield from _subschemas(value)


def _refuse_power(node: Json) -> None:
    if "patternProperties" in node:
        raise SchemaFault("`patternProperties` is not supported; use `additionalProperties`")
    for key in ("$ref", "$dynamicRef"):
        reference = node.get(key)
        if isinstance(reference, str) and not _OWN_REFERENCE.fullmatch(reference):
            raise SchemaFault(
                f"it refers to {reference!r}; a reference reads `#`, `#/$defs/<name>` or "
                "`#/definitions/<name>`"
            )
    text = node.get("pattern")
    if isinstance(text, str):
        try:
            linear(text)
        except ValueError as error:
            raise SchemaFault(f"its pattern {text!r} is not supported: {error}") from None


def _matches(
    validator: object, pattern: str, instance: object, schema: object
) -> Iterator[ValidationError]:
    if isinstance(instance, str) and linear(pattern).search(instance) is None:
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


_Validator: type[Draft202012Validator] = cast("Any", _extend)(
    Draft202012Validator, {"pattern": _matches}
)


def _told(error: ValidationError) -> str:
    # Of an `anyOf` that fails, the branch that came nearest says the most.
    nearest: ValidationError = cast("Any", _best_match)([error])
    return f"{nearest.json_path}: {_short(nearest.message)}"


def _short(message: str) -> str:
    """The message with its middle left out when it quotes a large value."""
    if len(message) <= _LONGEST_ERROR:
        return message
    half = _LONGEST_ERROR // 2
    return f"{message[:half]} … {message[-half:]}"
