"""The value of code from the sandbox as JSON, or what of it is not JSON.

The sandbox hands over ranges, views, functions and the like as their text. Where a text looks like
that, the code tells in a second run of what type the value really is.
"""

import ast
import math
import re
import warnings
from collections.abc import Iterator
from datetime import date, time, timedelta
from decimal import Decimal
from typing import cast

from pydantic import JsonValue
from pydantic_core import to_jsonable_python

_RENDERED = re.compile(r"range\(|slice\(|dict_(keys|values|items)\(|<")
_MAX_DEPTH = 100
_KEYS = (str, int, float, type(None))

VALUE = "coterie_value"
INSPECT = f"""
def coterie_inspect(value, where):
    if isinstance(value, dict):
        for key in value:
            found = coterie_inspect(value[key], where + '.' + str(key))
            if found:
                return found
        return ''
    if isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            found = coterie_inspect(item, where + '[' + str(number) + ']')
            if found:
                return found
        return ''
    kind = type(value).__name__
    rendered = ('range', 'slice', 'dict_keys', 'dict_values', 'dict_items', 'function', 'module')
    if kind in rendered or kind == 'Match' or kind.endswith('iterator'):
        return where + ' is a ' + kind
    return ''
coterie_inspect({VALUE}, 'the value')
"""
"""Code that returns which part of the value is of a type that JSON has not; empty for none."""


class NotJsonValue(Exception):
    """A part of the value is not JSON; the message says which."""


def as_plain_json(value: object, where: str = "the value", depth: int = 0) -> JsonValue:
    """Return the value as JSON: sets and tuples as lists, dates and decimals as texts.

    Raises:
        NotJsonValue: A part of it is not JSON.
    """
    if depth > _MAX_DEPTH:
        raise NotJsonValue(f"the value is nested deeper than {_MAX_DEPTH} levels")
    match value:
        case None | bool() | int() | str():
            return value
        case float() if math.isfinite(value):
            return value
        case Decimal() if value.is_finite():
            return str(value)
        case float() | Decimal():
            raise NotJsonValue(f"{where} is {value}")
        case date() | time() | timedelta():
            return cast("JsonValue", to_jsonable_python(value))
        case list() | tuple() | set() | frozenset():
            items = cast("list[object]", value)
            return [as_plain_json(one, f"{where}[{n}]", depth + 1) for n, one in enumerate(items)]
        case dict():
            return dict(_entries(cast("dict[object, object]", value), where, depth))
        case _:
            kind = getattr(value, "kind", type(value).__name__)
            raise NotJsonValue(f"{where} is a {kind}")


def _entries(
    value: dict[object, object], where: str, depth: int
) -> Iterator[tuple[str, JsonValue]]:
    for key, item in value.items():
        if not isinstance(key, _KEYS):
            raise NotJsonValue(f"{where} has the key {key!r}, which is a {type(key).__name__}")
        name = key if isinstance(key, str) else str(to_jsonable_python({key: 0}).popitem()[0])
        yield name, as_plain_json(item, f"{where}.{key}", depth + 1)


def may_be_rendered(value: JsonValue) -> bool:
    """Return whether a text in the value may be that of a range, a view, a function or the like."""
    match value:
        case str():
            return _RENDERED.match(value) is not None
        case list():
            return any(map(may_be_rendered, value))
        case dict():
            return any(map(may_be_rendered, value.values()))
        case _:
            return False


def binding(code: str) -> str | None:
    """Return the code with its last expression bound to `VALUE`; None if it cannot be read."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        return None
    lines = code.encode().splitlines(keepends=True)
    before = b"".join([*lines[: last.lineno - 1], lines[last.lineno - 1][: last.col_offset]])
    expression = b"".join(lines).removeprefix(before).decode()
    return f"{before.decode()}\n{VALUE} = (\n{expression}\n)"
