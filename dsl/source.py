"""YAML text -> tree of nodes that know their file, line and column. The one reader of YAML.

YAML 1.2 core rules: `on`, `yes` and `12:30` are texts (decision 0005). Refused, each with its
place: duplicate keys, tags, merge keys, aliases that loop or explode, keys that are no texts.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import cast

import yaml

from dsl.errors import InvalidDocument
from dsl.nodes import Mark, Node, Problems, dotted, overlaid, placed
from dsl.values import NodePath

__all__ = ["Mark", "Node", "Problems", "dotted", "overlaid", "placed", "read"]

Scalar = str | int | float | bool | None

_MOST_NODES = 200_000
_DEEPEST = 100
EXPLODES = "aliases, nesting or sheer size make the document explode"
_LONGEST_INTEGER = 300
_WRITE_OUT = "write less into one document, and each value where it is used"


class _Loader(yaml.CSafeLoader):
    """Resolves plain scalars by the YAML 1.2 core schema."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012


for _tag, _regexp, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+0123456789."),
):
    _Loader.add_implicit_resolver(  # pyright: ignore[reportUnknownMemberType]
        f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_regexp})$"), list(_first)
    )


def read(text: str, file: str) -> Node:
    """The tree of one YAML document.

    Raises:
        InvalidDocument: the text is no YAML, or uses YAML that the language refuses.
    """
    text = text.removeprefix("\ufeff")
    places = _Places(file, text)
    problems = Problems()
    root = _composed(text, places, problems)
    if not problems.errors and not isinstance(root, yaml.MappingNode):
        problems.add("E004", places.of(0), (), "the document is empty or not a mapping",
                     fix="begin with `orchestration:` and `llm_config:`")  # fmt: skip
    if root is None or problems.errors:
        raise InvalidDocument(problems.errors)
    tree = _Reader(places, problems).node(root, (), None)
    if problems.errors:
        raise InvalidDocument(problems.errors)
    return tree


def _composed(text: str, places: "_Places", problems: Problems) -> yaml.Node | None:
    """YAML's own nodes; None, and a problem, when the text is no YAML."""
    try:
        deep = _too_deep(text, places)
        if deep is None:
            return yaml.compose(text, Loader=_Loader)
        problems.add("E005", deep, (), EXPLODES, fix=_WRITE_OUT)
    except yaml.MarkedYAMLError as error:
        raw = error.problem_mark or error.context_mark
        if raw and raw.line >= len(text.splitlines()):
            raw = error.context_mark  # found out at the end only: where it began says more
        told = ", ".join(part for part in (error.context, error.problem) if part)
        problems.add(
            "E002", places.at(raw) if raw else places.of(0), (), f"YAML syntax: {told}",
            fix="check indentation, quotes and colons on this line and the one above",
        )  # fmt: skip
    except (yaml.YAMLError, UnicodeEncodeError) as error:
        start = _unreadable(error, text)
        told = f"YAML syntax: the character U+{ord(text[start]):04X} is not allowed"
        problems.add("E002", places.of(start), (), told)
    return None


def _too_deep(text: str, places: "_Places") -> Mark | None:
    """Where the nesting or the number of values is more than the reader can take.

    Found by the events, one after another: the composer calls itself for every level, and a
    text of a few kilobytes would overflow the stack of the whole process.
    """
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=_Loader)):  # pyright: ignore
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _DEEPEST or count > _MOST_NODES:
            return places.at(cast("yaml.Mark", event.start_mark))
    return None


def _unreadable(error: yaml.YAMLError | UnicodeEncodeError, text: str) -> int:
    """Where the character stands that YAML does not have."""
    if isinstance(error, UnicodeEncodeError):
        return error.start
    position = getattr(error, "position", 0)  # in bytes
    return len(text.encode()[:position].decode(errors="ignore"))


class _Places:
    """Lines and columns as editors count them: YAML 1.1 breaks lines at more characters."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.lines = text.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self.lines)]

    def at(self, raw: yaml.Mark) -> Mark:
        """The place of one of YAML's marks."""
        return self.of(raw.index)

    def of(self, index: int) -> Mark:
        """The place of the character with this number."""
        line = bisect_right(self._starts, index)
        return Mark(self.file, line, index - self._starts[line - 1] + 1)


class _Reader:
    """Turns composed YAML nodes into ours and refuses what the language refuses."""

    def __init__(self, places: _Places, problems: Problems) -> None:
        self.places = places
        self.problems = problems
        self.count = 0
        self.open: set[int] = set()
        self.exploded = False

    def node(self, raw: yaml.Node, path: NodePath, key_mark: Mark | None) -> Node:
        mark = self.places.at(raw.start_mark)
        self.count += 1
        if id(raw) in self.open or self.count > _MOST_NODES or len(path) > _DEEPEST:
            if not self.exploded:
                self.problems.add("E005", mark, path, EXPLODES, fix=_WRITE_OUT)
            self.exploded = True
            return Node(None, mark, key_mark)
        self.open.add(id(raw))
        try:
            return self._made(raw, path, mark, key_mark)
        finally:
            self.open.discard(id(raw))

    def _made(self, raw: yaml.Node, path: NodePath, mark: Mark, key_mark: Mark | None) -> Node:
        if raw.tag not in _TAGS:
            self.problems.add("E005", mark, path, f"the tag {raw.tag!r} is not allowed",
                              fix="leave the tag out")  # fmt: skip
        match raw:
            case yaml.MappingNode():
                return Node(dict(self._entries(raw, path)), mark, key_mark)
            case yaml.SequenceNode():
                items = [self.node(item, (*path, i), None) for i, item in enumerate(raw.value)]
                return Node(items, mark, key_mark)
            case _:
                indent = self._indent(mark) if getattr(raw, "style", None) == "|" else None
                return Node(self._scalar(raw, path, mark), mark, key_mark, indent)

    def _indent(self, mark: Mark) -> int:
        first = next((line for line in self.places.lines[mark.line :] if line.strip()), "")
        return len(first) - len(first.lstrip(" "))

    def _entries(self, raw: yaml.MappingNode, path: NodePath) -> Iterator[tuple[str, Node]]:
        seen: dict[str, Mark] = {}
        for raw_key, raw_value in raw.value:
            mark = self.places.at(raw_key.start_mark)
            key = raw_key.value
            if not isinstance(raw_key, yaml.ScalarNode) or not isinstance(key, str):
                self.problems.add("E005", mark, path, "a key must be a text",
                                  fix='put a template into quotes: "{{ ... }}"')  # fmt: skip
                continue
            if key == "<<" and not raw_key.style:
                self.problems.add("E005", mark, path, "the merge key `<<` is not part of YAML 1.2",
                                  fix="write the keys out, or use `config` on a task")  # fmt: skip
                continue
            if key in seen:
                self.problems.add("E003", mark, (*path, key), f"the key {key!r} stands here twice; "
                                  f"it was first on line {seen[key].line}",
                                  fix="keep one of the two")  # fmt: skip
                continue
            seen[key] = mark
            yield key, self.node(raw_value, (*path, key), mark)

    def _scalar(self, raw: yaml.Node, path: NodePath, mark: Mark) -> Scalar:
        text: str = raw.value
        try:
            return _VALUES.get(raw.tag, str)(text)
        except ValueError as error:
            self.problems.add("E005", mark, path, str(error))
            return None


def _integer(text: str) -> int:
    if len(text) > _LONGEST_INTEGER:
        raise ValueError(f"{text[:20]}... is too large for a number")
    return int(text, 0) if text[:2] in ("0o", "0x") else int(text)


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large for a number")
    return number


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text.lower() == "true"


_CORE = "tag:yaml.org,2002:"
_VALUES: dict[str, Callable[[str], Scalar]] = {
    f"{_CORE}null": lambda _: None,
    f"{_CORE}bool": _boolean,
    f"{_CORE}int": _integer,
    f"{_CORE}float": _float,
    f"{_CORE}str": str,
}
_TAGS = (*_VALUES, f"{_CORE}seq", f"{_CORE}map")
