"""The styles of OpenAPI's parameters: how a value becomes a part of a path, query or header. Pure.

They are RFC 6570's expansions, except `spaceDelimited`, `pipeDelimited` and `deepObject`.
"""

import json
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from coterie.dsl.model.api_requests import ApiParameter
from coterie.dsl.values import JsonValue

_RESERVED = ":/?@!$'()*,;"
"""Characters that `allowReserved` leaves as they are, without those that divide a query."""

Pair = tuple[str, str]
"""A name and a value, both encoded."""


def encoded(text: str, safe: str = "") -> str:
    """Encode a text for one part of an address: everything except letters, digits, `-._~`."""
    return quote(text, safe=safe)


def plain_text(value: JsonValue) -> str:
    """Return a value as the text that stands on the wire."""
    match value:
        case str():
            return value
        case None:
            return ""
        case float() if value.is_integer():
            return str(int(value))
        case _:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def path_part(parameter: ApiParameter, value: JsonValue) -> str:
    """Return what stands in the path for a value."""
    name = encoded(parameter.name)
    match parameter.style:
        case "label":
            joint = "." if parameter.explode else ","
            return f".{joint.join(_parts(value, parameter.explode))}"
        case "matrix":
            return "".join(f";{item}" for item in _matrix(name, value, parameter.explode))
        case "json":
            return encoded(_json(value))
        case _:
            return ",".join(_parts(value, parameter.explode))


def _parts(value: JsonValue, explode: bool) -> Iterator[str]:
    """Yield the encoded parts of a value: an object's keys with their values."""
    match value:
        case list():
            yield from (encoded(plain_text(item)) for item in value)
        case dict():
            for key, item in value.items():
                pair = (encoded(key), encoded(plain_text(item)))
                yield from ("=".join(pair),) if explode else pair
        case _:
            yield encoded(plain_text(value))


def _matrix(name: str, value: JsonValue, explode: bool) -> Iterator[str]:
    parts = [*_parts(value, explode)]
    if isinstance(value, dict) and explode:
        yield from parts
    elif isinstance(value, list) and explode:
        yield from (f"{name}={part}" for part in parts)
    else:
        yield f"{name}={','.join(parts)}"


_JOINTS = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}


def query_pairs(parameter: ApiParameter, value: JsonValue) -> Iterator[Pair]:
    """Yield the encoded pairs of a value in a query, a form or a cookie."""
    safe = _RESERVED if parameter.reserved else ""
    name = encoded(parameter.name)
    match parameter.style, value:
        case "json", _:
            yield name, encoded(_json(value), safe)
        case "deepObject", dict() | list():
            yield from _deep(parameter.name, value, safe)
        case _, list():
            items = [encoded(plain_text(item), safe) for item in value]
            if parameter.explode:
                yield from ((name, item) for item in items)
            elif items:
                yield name, _JOINTS.get(parameter.style, ",").join(items)
        case _, dict():
            pairs = [(encoded(key), encoded(plain_text(item), safe)) for key, item in value.items()]
            if parameter.explode:
                yield from pairs
            elif pairs:
                joint = _JOINTS.get(parameter.style, ",")
                yield name, joint.join(part for pair in pairs for part in pair)
        case _:
            yield name, encoded(plain_text(value), safe)


def _deep(name: str, value: JsonValue, safe: str) -> Iterator[Pair]:
    """Yield `name[key][index]=value` for each value within a value."""
    below: Sequence[tuple[str | int, JsonValue]]
    match value:
        case dict():
            below = [*value.items()]
        case list():
            below = [*enumerate(value)]
        case _:
            yield encoded(name), encoded(plain_text(value), safe)
            return
    for key, item in below:
        yield from _deep(f"{name}[{key}]", item, safe)


def header_text(parameter: ApiParameter, value: JsonValue) -> str:
    """Return a value as the text of a header, which is not encoded."""
    if parameter.style == "json":
        return _json(value)
    match value:
        case list():
            return ",".join(map(plain_text, value))
        case dict():
            joint = "=" if parameter.explode else ","
            return ",".join(f"{key}{joint}{plain_text(item)}" for key, item in value.items())
        case _:
            return plain_text(value)


def _json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
