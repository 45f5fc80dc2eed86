"""Make up a small value that a JSON Schema accepts: always the same one, or a reason why not."""

import json
from collections.abc import Iterator
from itertools import islice
from math import ceil, floor

from coterie.dsl.json_schema.references import target_of
from coterie.dsl.json_schema.schema_checker import UnusableSchema, mismatches
from coterie.dsl.values import Json, JsonValue

_DEPTHS = (4, 8, 24)
"""Tried in this order, so that a recursive schema gets a shallow value."""
_MAX_CHECKS = 2_000
_MAX_ITEMS = 100
_FORMATS = {
    "date-time": "2026-01-01T00:00:00Z",
    "date": "2026-01-01",
    "time": "00:00:00Z",
    "duration": "PT1M",
    "email": "a@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}


class NoMinimalValue(Exception):
    """No value was found; the message says why."""


def minimal_value(schema: Json, name: str = "text") -> JsonValue:
    """Return a small value that the schema accepts.

    It has the required keys only. An example or a default of the schema is used where there is
    one; a text without other rules is the name of its key.

    Args:
        schema: The JSON Schema.
        name: The text to use for a value that is a plain text.

    Raises:
        NoMinimalValue: The schema is too complicated, or accepts no value.
    """
    reason = None
    for deepest in _DEPTHS:
        maker = _Maker(schema, deepest)
        for value in maker.candidates(schema, name, 0):
            return value
        reason = reason or maker.reason
    raise NoMinimalValue(reason or "the schema is too deep or too complicated")


class _Maker:
    """Makes values for the parts of one schema, within a bound of work."""

    def __init__(self, root: Json, deepest: int) -> None:
        self._root = root
        self._deepest = deepest
        self._left = _MAX_CHECKS
        self.reason: str | None = None
        """The first rule that a value broke."""

    def candidates(self, schema: JsonValue, name: str, depth: int) -> Iterator[JsonValue]:
        """Yield values that the schema accepts, the preferred one first."""
        if depth > self._deepest:
            return
        if not isinstance(schema, dict):
            if schema is not False:
                yield None
            return
        for value in self._proposals(schema, name, depth):
            if self.fits(value, schema):
                yield value

    def fits(self, value: JsonValue, schema: Json) -> bool:
        """Return whether the part of the schema accepts the value; keep the reason if not."""
        self._left -= 1
        if self._left < 0:
            return False
        whole: Json = {
            key: self._root[key] for key in ("$defs", "definitions") if key in self._root
        }
        try:
            wrong = mismatches(value, {**whole, **schema})
        except UnusableSchema as error:
            wrong = [str(error)]
        if wrong and self.reason is None:
            self.reason = wrong[0]
        return not wrong

    def _proposals(self, schema: Json, name: str, depth: int) -> Iterator[JsonValue]:
        if "const" in schema:
            yield schema["const"]
        for key in ("enum", "examples"):
            values = schema.get(key)
            yield from values if isinstance(values, list) else ()
        if "default" in schema:
            yield schema["default"]
        reference = schema.get("$ref")
        if isinstance(reference, str):
            target = target_of(self._root, reference, {})
            yield from self.candidates(target, name, depth + 1)
            return
        for combined in _combinations(schema):
            yield from self.candidates(combined, name, depth + 1)
        if not any(key in schema for key in ("allOf", "anyOf", "oneOf")):
            for kind in _types(schema):
                yield from self._of_type(kind, schema, name, depth)

    def _of_type(self, kind: str, schema: Json, name: str, depth: int) -> Iterator[JsonValue]:
        match kind:
            case "object":
                yield from self._objects(schema, depth)
            case "array":
                yield from self._arrays(schema, name, depth)
            case "string":
                yield from _texts(schema, name)
            case "integer" | "number":
                yield from _numbers(schema)
            case "boolean":
                yield from (False, True)
            case _:
                yield None

    def _objects(self, schema: Json, depth: int) -> Iterator[JsonValue]:
        properties = _mapping(schema.get("properties"))
        keys = [str(key) for key in _list(schema.get("required"))]
        keys += [key for key in properties if key not in keys][: _least(schema, "Properties")]
        result: Json = {}
        for key in keys:
            part = properties.get(key, schema.get("additionalProperties", True))
            value = next(self.candidates(part, key, depth + 1), _NOTHING)
            if value is _NOTHING:
                return
            result[key] = value
            for more in _list(_mapping(schema.get("dependentRequired")).get(key)):
                if str(more) not in keys:
                    keys.append(str(more))
        yield result

    def _arrays(self, schema: Json, name: str, depth: int) -> Iterator[JsonValue]:
        fixed = _list(schema.get("prefixItems"))
        count = min(_least(schema, "Items"), _MAX_ITEMS)
        if "contains" in schema:
            item = next(self.candidates(schema["contains"], name, depth + 1), _NOTHING)
            yield [item] * max(count, 1) if item is not _NOTHING else []
        items: list[JsonValue] = []
        for index in range(count):
            part = fixed[index] if index < len(fixed) else schema.get("items", True)
            values = islice(self.candidates(part, name, depth + 1), _MAX_ITEMS)
            again = items if schema.get("uniqueItems") else ()
            value = next((value for value in values if value not in again), _NOTHING)
            if value is _NOTHING:
                return
            items.append(value)
        yield items


_NOTHING = json.dumps("no value")
"""Stands for a part without a value; compared by identity."""


def _combinations(schema: Json) -> Iterator[Json]:
    """Yield the schema with its `allOf` and one of its options written into it."""
    rest = {key: value for key, value in schema.items() if key not in ("allOf", "anyOf", "oneOf")}
    every = [part for part in _list(schema.get("allOf")) if isinstance(part, dict)]
    options = [*_list(schema.get("anyOf")), *_list(schema.get("oneOf"))]
    if not every and not options:
        return
    for part in every:
        rest = _join_objects(rest, part)
    if not options:
        yield rest
    for option in options:
        yield _join_objects(rest, option) if isinstance(option, dict) else rest


def _join_objects(first: Json, then: Json) -> Json:
    joined: Json = {**first, **then}
    joined["properties"] = {
        **_mapping(first.get("properties")),
        **_mapping(then.get("properties")),
    }
    names = [str(key) for part in (first, then) for key in _list(part.get("required"))]
    joined["required"] = list(dict.fromkeys(names))
    return {key: value for key, value in joined.items() if value not in ({}, []) or key in then}


def _types(schema: Json) -> list[str]:
    """Return the types to try: those of the schema, else those that its keywords speak of."""
    type_value = schema.get("type")
    if isinstance(type_value, str):
        return [type_value]
    if isinstance(type_value, list):
        return [str(kind) for kind in type_value]
    words = {
        "object": ("properties", "required", "minProperties"),
        "array": ("items", "minItems", "prefixItems", "contains"),
        "string": ("minLength", "maxLength", "pattern", "format"),
        "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    }
    spoken = [kind for kind, keys in words.items() if any(key in schema for key in keys)]
    return [*spoken, "null", "object", "string", "integer", "boolean", "array"]


def _texts(schema: Json, name: str) -> Iterator[str]:
    example = _FORMATS.get(str(schema.get("format")))
    if example is not None:
        yield example
    least, maximum = _least(schema, "Length"), schema.get("maxLength")
    for text in (name, "a", "A", "0", "1", "a1", "A-1", "0.0.0", "2026-01-01", "a@example.com", ""):
        fitted = text + "x" * (least - len(text)) if text else "x" * least
        yield fitted[: int(maximum)] if isinstance(maximum, int | float) else fitted
    for number in range(2, _MAX_ITEMS):
        yield f"{name}{number}"


def _numbers(schema: Json) -> Iterator[int | float]:
    bounds = [
        value
        for key in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")
        if isinstance(value := schema.get(key), int | float)
    ]
    step = schema.get("multipleOf")
    yield from (0, 0.5)
    for bound in bounds:
        yield from (bound, floor(bound) + 1, ceil(bound) - 1, bound + 0.5)
        if isinstance(step, int | float):
            yield from ((floor(bound / step) + 1) * step, (ceil(bound / step) - 1) * step)
    yield from range(1, _MAX_ITEMS)


def _least(schema: Json, what: str) -> int:
    value = schema.get(f"min{what}")
    return int(value) if isinstance(value, int | float) else 0


def _mapping(value: JsonValue) -> Json:
    return value if isinstance(value, dict) else {}


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
