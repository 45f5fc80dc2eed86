"""Jinja2, fenced in: what a template can reach, and how much it may make.

No chance, no clock, no method that is not listed; data wins over Python. What grows without
bound (repeating, padding, replacing) is refused before it is made, so that no template can
take a worker's memory.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields
from functools import partial
from typing import Any, Final, cast

from jinja2 import StrictUndefined, nodes
from jinja2.exceptions import SecurityError
from jinja2.filters import do_indent, make_attrgetter
from jinja2.runtime import LoopContext
from jinja2.sandbox import SandboxedEnvironment
from jinja2.visitor import NodeTransformer

from dsl.jsonable import to_json
from dsl.outcomes import Failure, Outcome

MAPPING_METHODS = frozenset({"items", "keys", "values", "get"})
TEXT_METHODS = frozenset({
    "upper", "lower", "title", "capitalize", "strip", "lstrip", "rstrip", "split", "splitlines",
    "startswith", "endswith", "replace", "join", "count", "find", "removeprefix", "removesuffix",
})  # fmt: skip
LARGEST = 10_000_000
"""The longest text, in characters, and the longest list that a template may make."""

_OUTCOME_FIELDS = frozenset(one.name for one in fields(Outcome)) | {"success"}
_FAILURE_FIELDS = frozenset(one.name for one in fields(Failure))
_NO_FILTERS = ("random", "pprint", "urlize", "xmlattr", "escape", "e", "forceescape", "safe",
               "center", "batch", "slice")  # fmt: skip
_NO_TESTS = ("sameas",)
_WIDEST = 1000
_ENCODED: Final = json.JSONEncoder(ensure_ascii=False).encode  # `dumps` makes one each time
_WIDTH = re.compile(r"%[^%a-zA-Z]*(\*|\d{4,})")


class Absent(StrictUndefined):
    """What is not there: stays absent however deep one asks, and fails when it is used."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: object) -> Any:
        return self


def shown(value: object) -> object:
    """How a value stands inside a text: JSON, but texts as they are."""
    if isinstance(value, str | Absent):
        return value
    return _ENCODED(to_json(value))


def _size(value: object) -> int | None:
    """How long a text or a list is; None for anything else."""
    if isinstance(value, str | list | tuple):
        return len(cast("Collection[object]", value))
    return None


def _refuse_above(size: int) -> None:
    if size > LARGEST:
        raise SecurityError(f"it makes {size:,} characters or items, more than {LARGEST:,}")


def _join(value: Iterable[object], d: object = "", attribute: str | int | None = None) -> str:
    items = value if attribute is None else map(make_attrgetter(ENVIRONMENT, attribute), value)
    texts = [str(shown(item)) for item in items]
    separator = str(shown(d))
    _refuse_above(sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)


def _replace(value: object, old: object, new: object, count: int | None = None) -> str:
    text, before, after = str(shown(value)), str(shown(old)), str(shown(new))
    times = text.count(before) if count is None else min(count, text.count(before))
    _refuse_above(len(text) + times * len(after))
    return text.replace(before, after, -1 if count is None else count)


def _indent(s: str, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    size = width if isinstance(width, int) else len(width)
    _refuse_above(len(s) + (s.count("\n") + 1) * size)
    return do_indent(s, width, first, blank)


def _format(text: str, *args: object, **kwargs: object) -> str:
    if _WIDTH.search(text):
        raise SecurityError(f"a width of more than {_WIDEST} characters, or one that is computed")
    return text % (kwargs or args)


def _to_json_text(value: object, indent: int | None = None) -> str:
    return json.dumps(
        to_json(value), ensure_ascii=False, indent=min(indent, 16) if indent else None
    )


class _Environment(SandboxedEnvironment):
    intercepted_binops = frozenset({"*", "**", "%", "+"})

    def __init__(self) -> None:
        super().__init__(undefined=Absent, finalize=shown, keep_trailing_newline=True)
        self.globals = {"range": self.globals["range"]}
        for name in _NO_FILTERS:
            self.filters.pop(name, None)
        for name in _NO_TESTS:
            self.tests.pop(name, None)
        self.filters |= {
            "tojson": _to_json_text, "string": lambda value: str(shown(value)), "join": _join,
            "replace": _replace, "indent": _indent, "format": _format,
        }  # fmt: skip

    def getattr(self, obj: Any, attribute: str) -> Any:
        match obj:
            case Mapping():
                found = cast("Mapping[str, object]", obj)
                if attribute in found:
                    return found[attribute]
                allowed = MAPPING_METHODS
            case Outcome():
                allowed = _OUTCOME_FIELDS
            case Failure():
                allowed = _FAILURE_FIELDS
            case str():
                allowed = TEXT_METHODS
            case Absent():
                return obj
            case LoopContext():
                return super().getattr(obj, attribute)
            case _:
                allowed = frozenset[str]()
        if attribute not in allowed:
            return self.undefined(name=attribute)
        return _guarded(cast("object", obj), attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(argument, str) and not isinstance(obj, Absent):
            return self.getattr(obj, argument)
        return super().getitem(obj, argument)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        match operator:
            case "**":
                raise SecurityError("`**` is not part of the language")
            case "%" if isinstance(left, str):
                return _format(left, *_arguments(right))
            case "*":
                for one, other in ((left, right), (right, left)):
                    size = _size(one)
                    if size is not None and isinstance(other, int):
                        _refuse_above(size * other)
            case "+":
                _refuse_above((_size(left) or 0) + (_size(right) or 0))
            case _:
                pass
        return super().call_binop(context, operator, left, right)


def _arguments(value: object) -> tuple[object, ...]:
    return cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)


def _guarded(obj: object, attribute: str) -> object:
    """The attribute; methods of texts that can make much out of little are ours."""
    match obj, attribute:
        case str(), "replace":
            return partial(_replace, obj)
        case str(), "join":
            return partial(_join, d=obj)
        case _:
            return getattr(obj, attribute)


ENVIRONMENT: Final = _Environment()


class Shown(NodeTransformer):
    """Makes `~` join values as they stand in a text: true and not True."""

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        """Join the operands through the filter `join`, which shows each of them."""
        self.generic_visit(node)
        return nodes.Filter(
            nodes.List(node.nodes, lineno=node.lineno), "join", [], [], None, None,
            lineno=node.lineno,
        )  # fmt: skip
