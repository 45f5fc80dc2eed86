"""The grammar of JSON Schema (draft 2020-12): the values that each keyword takes. Pure.

The standard states it as a meta-schema. The library that checks meta-schemas takes longer to load
than validating a thousand lines. Tests compare each verdict with that library's verdict.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from pydantic import JsonValue

_TYPES: Final = ("object", "array", "string", "integer", "number", "boolean", "null")
_ANCHOR: Final = re.compile(r"[A-Za-z_][-A-Za-z0-9._]*")
_ID: Final = re.compile(r"[^#]*#?")
_MAX_LENGTH: Final = 60


def grammar_problem(schema: JsonValue, path: str = "$") -> str | None:
    """Return the first grammar error with its location, or None for a valid schema."""
    if isinstance(schema, bool):
        return None
    if not isinstance(schema, dict):
        return _wrong(schema, path, "a schema: a mapping, true or false")
    for keyword, value in schema.items():
        here = f"{path}.{keyword}"
        if keyword in _HOLDERS:
            problem = _HOLDERS[keyword](value, here)
        else:
            form, fits = _VALUES.get(keyword, _ANYTHING)
            problem = None if fits(value) else _wrong(value, here, form)
        if problem is not None:
            return problem
    return None


def _wrong(value: JsonValue, path: str, form: str) -> str:
    text = str(value) if isinstance(value, dict | list) else repr(value)
    cut = text if len(text) <= _MAX_LENGTH else f"{text[:_MAX_LENGTH]}..."
    return f"{path}: {cut} is not {form}"


def _schemas(value: JsonValue, path: str) -> str | None:
    if not isinstance(value, list) or not value:
        return _wrong(value, path, "a list of schemas")
    problems = (grammar_problem(schema, f"{path}[{index}]") for index, schema in enumerate(value))
    return next((problem for problem in problems if problem is not None), None)


def _named_schemas(value: JsonValue, path: str) -> str | None:
    if not isinstance(value, dict):
        return _wrong(value, path, "a mapping of names to schemas")
    problems = (grammar_problem(schema, f"{path}.{name}") for name, schema in value.items())
    return next((problem for problem in problems if problem is not None), None)


_HOLDERS: Final[Mapping[str, Callable[[JsonValue, str], str | None]]] = {
    **dict.fromkeys(
        (
            "additionalProperties",
            "contains",
            "contentSchema",
            "else",
            "if",
            "items",
            "not",
            "propertyNames",
            "then",
            "unevaluatedItems",
            "unevaluatedProperties",
        ),
        grammar_problem,
    ),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), _schemas),
    **dict.fromkeys(
        ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties"),
        _named_schemas,
    ),
}
"""Keywords that hold schemas."""


def _is_text(value: JsonValue) -> bool:
    return isinstance(value, str)


def _is_flag(value: JsonValue) -> bool:
    return isinstance(value, bool)


def _is_list(value: JsonValue) -> bool:
    return isinstance(value, list)


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_positive(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _is_count(value: JsonValue) -> bool:
    if isinstance(value, float):
        return value.is_integer() and value >= 0
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _are_names(value: JsonValue) -> bool:
    return (
        isinstance(value, list)
        and all(isinstance(name, str) for name in value)
        and len(value) == len(set(map(str, value)))
    )


def _are_dependent_names(value: JsonValue) -> bool:
    return isinstance(value, dict) and all(map(_are_names, value.values()))


def _is_type(value: JsonValue) -> bool:
    if isinstance(value, list):
        return bool(value) and _are_names(value) and all(map(_is_type, value))
    return value in _TYPES


def _is_anchor(value: JsonValue) -> bool:
    return isinstance(value, str) and _ANCHOR.fullmatch(value) is not None


def _is_id(value: JsonValue) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def _is_vocabulary(value: JsonValue) -> bool:
    return isinstance(value, dict) and all(map(_is_flag, value.values()))


_Values = tuple[str, Callable[[JsonValue], bool]]
_ANYTHING: Final[_Values] = ("anything", lambda _: True)
_TEXT: Final[_Values] = ("a text", _is_text)
_FLAG: Final[_Values] = ("true or false", _is_flag)
_NUMBER: Final[_Values] = ("a number", _is_number)
_COUNT: Final[_Values] = ("a whole number of at least 0", _is_count)
_LIST: Final[_Values] = ("a list", _is_list)

_VALUES: Final[Mapping[str, _Values]] = {
    **dict.fromkeys(
        (
            "$comment",
            "$dynamicRef",
            "$ref",
            "$schema",
            "contentEncoding",
            "contentMediaType",
            "description",
            "format",
            "pattern",
            "title",
        ),
        _TEXT,
    ),
    **dict.fromkeys(("deprecated", "readOnly", "uniqueItems", "writeOnly"), _FLAG),
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"), _NUMBER),
    **dict.fromkeys(
        (
            "maxContains",
            "maxItems",
            "maxLength",
            "maxProperties",
            "minContains",
            "minItems",
            "minLength",
            "minProperties",
        ),
        _COUNT,
    ),
    **dict.fromkeys(("enum", "examples"), _LIST),
    **dict.fromkeys(("$anchor", "$dynamicAnchor"), ("the name of an anchor", _is_anchor)),
    "$id": ("a text without a fragment", _is_id),
    "$vocabulary": ("a mapping of vocabularies to true or false", _is_vocabulary),
    "dependentRequired": ("a mapping of keys to lists of keys", _are_dependent_names),
    "multipleOf": ("a number above 0", _is_positive),
    "required": ("a list of different keys", _are_names),
    "type": (f"one of {', '.join(_TYPES)}, or a list of them", _is_type),
}
"""Keywords that hold data: what it must be, and its check."""

KEYWORDS: Final = frozenset((*_VALUES, *_HOLDERS, "const", "default"))
"""Every keyword of the standard."""
