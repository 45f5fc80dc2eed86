"""Tells the JSON Schemas that are certainly right, without the library that tells what is wrong.

Loading that library takes longer than checking a thousand lines. Here are the words that nearly
all schemas of answers are made of; of any other schema, nothing is said.
"""

from collections.abc import Callable

from pydantic import JsonValue

from dsl.values import Json

_TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")

_Check = Callable[[JsonValue], bool]


def certainly_sound(schema: Json) -> bool:
    """Whether the schema is one, refers to nothing and has no pattern; False: ask the library."""
    return all(key in _WORDS and _WORDS[key](value) for key, value in schema.items())


def _text(value: JsonValue) -> bool:
    return isinstance(value, str)


def _flag(value: JsonValue) -> bool:
    return isinstance(value, bool)


def _number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _count(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _schema(value: JsonValue) -> bool:
    return isinstance(value, bool) or (isinstance(value, dict) and certainly_sound(value))


def _schemas(value: JsonValue) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_schema, value))


def _named_schemas(value: JsonValue) -> bool:
    return isinstance(value, dict) and all(map(_schema, value.values()))


def _names(value: JsonValue) -> bool:
    if not isinstance(value, list):
        return False
    names = [name for name in value if isinstance(name, str)]
    return len(set(names)) == len(value)


def _type(value: JsonValue) -> bool:
    if isinstance(value, list):
        return bool(value) and _names(value) and all(name in _TYPES for name in value)
    return value in _TYPES


def _value(value: JsonValue) -> bool:
    """A plain value: in a mapping there could be words that the library refuses."""
    return not isinstance(value, dict | list)


def _values(value: JsonValue) -> bool:
    return isinstance(value, list) and all(map(_value, value))


_WORDS: dict[str, _Check] = {
    "type": _type,
    "title": _text,
    "description": _text,
    "properties": _named_schemas,
    "required": _names,
    "additionalProperties": _schema,
    "items": _schema,
    "anyOf": _schemas,
    "oneOf": _schemas,
    "allOf": _schemas,
    "enum": _values,
    "const": _value,
    "default": _value,
    "minimum": _number,
    "maximum": _number,
    "exclusiveMinimum": _number,
    "exclusiveMaximum": _number,
    "minLength": _count,
    "maxLength": _count,
    "minItems": _count,
    "maxItems": _count,
    "uniqueItems": _flag,
}
