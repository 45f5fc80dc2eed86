"""The keywords of JSON Schema that are checked inside a run, one function each."""

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import islice
from typing import Protocol, cast

from pydantic import JsonValue

from dsl.errors import listed
from dsl.json_schema.patterns import schema_pattern
from dsl.json_schema.references import is_own, target_of
from dsl.json_values import describe_kind
from dsl.values import Json

MAX_ERRORS = 5
"""The maximum number of errors reported for one value."""

_BYTES_A_STEP = 100
_COMPILED = 20
_PATTERN_A_STEP = 250
"""Characters times instructions of the pattern that count as one unit of work."""
_KINDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


class UnusableSchema(Exception):
    """The schema is unusable: malformed, endlessly recursive, or too expensive."""


class Check(Protocol):
    """One check and its remaining work allowance."""

    root: Json

    def charge(self, work: int) -> None:
        """Charge for work.

        Raises:
            UnusableSchema: The check takes too much work.
        """
        ...

    def errors(self, value: JsonValue, schema: JsonValue, where: str, depth: int) -> Iterator[str]:
        """Yield the errors of the value against the schema."""
        ...

    def fits(self, value: JsonValue, schema: JsonValue, depth: int) -> bool:
        """Return whether the value meets the schema."""
        ...

    def equal(self, value: JsonValue, other: JsonValue) -> bool:
        """Return whether two values are equal as JSON."""
        ...


Word = Callable[[Check, Json, JsonValue, str, int], Iterator[str]]
"""Checks one keyword of a schema; yields the errors of the value."""


def brief(value: JsonValue, most: int = 60) -> str:
    """Render a value on one line, shortened where it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= most else f"{text[:most]}..."


def weight(value: JsonValue) -> int:
    """Estimate the work of traversing the whole value."""
    match value:
        case dict():
            return 1 + sum(map(weight, value.values()))
        case list():
            return 1 + sum(map(weight, value))
        case str():
            return 1 + len(value) // _BYTES_A_STEP
        case _:
            return 1


def _is(value: JsonValue, name: JsonValue) -> bool:
    match name:
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
        case "number":
            return _number(value) is not None
        case "integer":
            number = _number(value)
            return isinstance(number, int) or (number is not None and number.is_integer())
        case _:
            raise ValueError(f"no type {name!r}")


def _number(value: JsonValue) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _type(check: Check, schema: Json, value: JsonValue, where: str, depth: int) -> Iterator[str]:
    wanted = schema["type"]
    names = wanted if isinstance(wanted, list) else [wanted]
    if not any(_is(value, name) for name in names):
        kinds = " or ".join(_KINDS[cast("str", name)] for name in names)
        yield f"{where} is {describe_kind(value)}, not {kinds}"


def _enum(check: Check, schema: Json, value: JsonValue, where: str, depth: int) -> Iterator[str]:
    options = cast("list[JsonValue]", schema["enum"])
    if not any(check.equal(value, option) for option in options):
        yield f"{where} is {brief(value)}, not one of {', '.join(brief(one) for one in options)}"


def _const(check: Check, schema: Json, value: JsonValue, where: str, depth: int) -> Iterator[str]:
    if not check.equal(value, schema["const"]):
        yield f"{where} is {brief(value)}, not {brief(schema['const'])}"


def _bound(word: str, relation: str, holds: Callable[[float, float], bool]) -> Word:
    def test(check: Check, schema: Json, value: JsonValue, where: str, depth: int) -> Iterator[str]:
        number, limit = _number(value), schema[word]
        if number is not None and not holds(number, cast("float", limit)):
            yield f"{where} is {brief(number)}, not {relation} {brief(limit)}"

    return test


def is_multiple(number: float, of: float) -> bool:
    """Return whether one number divides the other, in decimal: 19.99 is 1,999 times 0.01."""
    if isinstance(number, int) and isinstance(of, int):
        return number % of == 0
    return Fraction(repr(number)) % Fraction(repr(of)) == 0


def _size(word: str, kind: type, least: bool, what: str) -> Word:
    def test(check: Check, schema: Json, value: JsonValue, where: str, depth: int) -> Iterator[str]:
        if isinstance(value, kind):
            size, limit = len(cast("str", value)), cast("int", schema[word])
            if size < limit if least else size > limit:
                bound = "at least" if least else "at most"
                yield f"{where} has {size} {what}, not {bound} {limit}"

    return test


def _pattern(check: Check, schema: Json, value: JsonValue, where: str, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        text = cast("str", schema["pattern"])
        found = schema_pattern(text)
        check.charge(_COMPILED + len(value) * found.programsize // _PATTERN_A_STEP)
        if found.search(value) is None:
            yield f"{where} is {brief(value)}, which does not match {text!r}"


def _properties(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    if isinstance(value, dict):
        for key, below in cast("Json", schema["properties"]).items():
            if key in value:
                yield from check.errors(value[key], below, f"{where}.{key}", depth)


def _additional(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
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


def _required(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    if isinstance(value, dict):
        for key in cast("list[str]", schema["required"]):
            if key not in value:
                yield f"{where} lacks the key {key!r}"


def _dependent(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    if isinstance(value, dict):
        for key, needed in cast("dict[str, list[str]]", schema["dependentRequired"]).items():
            if key in value:
                yield from _required(check, {"required": list(needed)}, value, where, depth)


def _dependent_schemas(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    if isinstance(value, dict):
        for key, below in cast("Json", schema["dependentSchemas"]).items():
            if key in value:
                yield from check.errors(value, below, where, depth)


def _names(check: Check, schema: Json, value: JsonValue, where: str, depth: int) -> Iterator[str]:
    if isinstance(value, dict):
        for key in value:
            key_name = f"the key {key!r} of {where}"
            yield from check.errors(key, schema["propertyNames"], key_name, depth)


def _items(check: Check, schema: Json, value: JsonValue, where: str, depth: int) -> Iterator[str]:
    if isinstance(value, list):
        first = len(cast("list[JsonValue]", schema.get("prefixItems", [])))
        for index, item in enumerate(value[first:], first):
            yield from check.errors(item, schema["items"], f"{where}[{index}]", depth)


def _prefix(check: Check, schema: Json, value: JsonValue, where: str, depth: int) -> Iterator[str]:
    if isinstance(value, list):
        pairs = zip(value, cast("list[JsonValue]", schema["prefixItems"]), strict=False)
        for index, (item, below) in enumerate(pairs):
            yield from check.errors(item, below, f"{where}[{index}]", depth)


def _contains(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    if isinstance(value, list):
        count = sum(check.fits(item, schema["contains"], depth) for item in value)
        least = cast("int", schema.get("minContains", 1))
        most = cast("float", schema.get("maxContains", float("inf")))
        if not least <= count <= most:
            yield f"{where} has {count} of the entries that it must contain"


def _unique(check: Check, schema: Json, value: JsonValue, where: str, depth: int) -> Iterator[str]:
    if isinstance(value, list) and schema["uniqueItems"] is True:
        check.charge(weight(value))
        if len({canonical(item) for item in value}) < len(value):
            yield f"{where} has an entry twice"


def canonical(value: JsonValue) -> str:
    """Return the same text for values that are equal as JSON: 1 is 1.0."""

    def plain(value: JsonValue) -> JsonValue:
        match value:
            case float() if value.is_integer():
                return int(value)
            case dict():
                return {key: plain(item) for key, item in value.items()}
            case list():
                return [plain(item) for item in value]
            case _:
                return value

    return json.dumps(plain(value), sort_keys=True)


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
        yield f"{where} is {brief(value)}, which is excluded"


def _if(check: Check, schema: Json, value: JsonValue, where: str, depth: int) -> Iterator[str]:
    way = "then" if check.fits(value, schema["if"], depth) else "else"
    if way in schema:
        yield from check.errors(value, schema[way], where, depth)


def _ref(check: Check, schema: Json, value: JsonValue, where: str, depth: int) -> Iterator[str]:
    reference = cast("str", schema["$ref"])
    if not is_own(reference):
        raise UnusableSchema(f"it refers to {reference!r}")
    below = target_of(check.root, reference, {})
    if below is None:
        raise UnusableSchema(f"it refers to {reference!r}, which it does not define")
    yield from check.errors(value, below, where, depth)


WORDS: dict[str, Word] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "minimum": _bound("minimum", "at least", lambda number, limit: number >= limit),
    "maximum": _bound("maximum", "at most", lambda number, limit: number <= limit),
    "exclusiveMinimum": _bound("exclusiveMinimum", "more than", lambda n, limit: n > limit),
    "exclusiveMaximum": _bound("exclusiveMaximum", "less than", lambda n, limit: n < limit),
    "multipleOf": _bound("multipleOf", "a multiple of", is_multiple),
    "minLength": _size("minLength", str, True, "characters"),
    "maxLength": _size("maxLength", str, False, "characters"),
    "pattern": _pattern,
    "required": _required,
    "properties": _properties,
    "additionalProperties": _additional,
    "propertyNames": _names,
    "dependentRequired": _dependent,
    "dependentSchemas": _dependent_schemas,
    "minProperties": _size("minProperties", dict, True, "keys"),
    "maxProperties": _size("maxProperties", dict, False, "keys"),
    "items": _items,
    "prefixItems": _prefix,
    "contains": _contains,
    "uniqueItems": _unique,
    "minItems": _size("minItems", list, True, "entries"),
    "maxItems": _size("maxItems", list, False, "entries"),
    "allOf": _all,
    "anyOf": _any,
    "oneOf": _one,
    "not": _not,
    "if": _if,
    "$ref": _ref,
}
"""Every keyword that is checked; all other keywords are annotations."""
