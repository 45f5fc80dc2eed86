"""YAML text -> a tree of nodes with file, line and column, by the core schema of YAML 1.2.

The one reader of YAML. In that schema `on`, `yes` and `12:30` are texts. Refused, each with its
position: duplicate keys, tags, merge keys, aliases that loop or explode, keys that are not strings.
"""

import math
import re
from typing import Literal

from coterie.dsl.errors import InvalidDocument
from coterie.dsl.problem_details import ProblemText, Quote, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Mark, Node, Place
from coterie.dsl.source.yaml_events import (
    MAX_DEPTH,
    MAX_NODES,
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    MappingStartEvent,
    ScalarEvent,
    YamlEvents,
    document_events,
    document_explodes,
    find_odd_space,
    odd_space_words,
)
from coterie.dsl.values import NodePath

_REPEATED = "E003"
"""The code of a repeated key: the rest of the document can still be checked."""

_Scalar = str | int | float | bool | None

_MAX_INTEGER_LENGTH = 300


def read(text: str, file: str, *, may_be_list: bool = False) -> Node:
    """Return the tree of one YAML document: a mapping, or a list where it may be one.

    Raises:
        InvalidDocument: the text is not YAML, or uses YAML that the language refuses.
    """
    problems = Problems()
    events = document_events(text, file, problems, may_be_list=may_be_list)
    tree = None if events is None else document_tree(events, problems)
    if tree is None or problems.errors:
        raise InvalidDocument(problems.errors)
    return tree


def plain_scalar(text: str) -> str | int | float | bool | None:
    """Return what a text is where YAML has it without quotes.

    Raises:
        UnreadableScalar: it looks like such a value and is none, such as `.inf`.
    """
    return _scalar(text, _plain_tag(text))


def document_tree(events: YamlEvents, problems: Problems) -> Node | None:
    """Return the tree of a document; None, and a problem, if it uses YAML that is refused.

    Of a repeated key, which is a problem as well, the first value counts.
    """
    tree = partial_tree(events, problems)
    is_refused = any(problem.code != _REPEATED for problem in problems.errors)
    return None if is_refused else tree


def partial_tree(events: YamlEvents, problems: Problems) -> Node:
    """Return the tree of a document without the parts that are refused, each with its problem."""
    return _TreeReader(problems, events).node((), None)


class UnreadableScalar(ValueError):
    """A text that is not a value of its tag; `defect` is the reason."""

    def __init__(self, defect: Literal["too_large", "not_json", "not_a_number", "not_a_boolean"]):
        self.defect = defect
        super().__init__(defect)


_CORE = "tag:yaml.org,2002:"
_TAGS = tuple(f"{_CORE}{tag}" for tag in ("null", "bool", "int", "float", "str", "seq", "map"))

_PLAIN = tuple(
    (f"{_CORE}{tag}", re.compile(pattern))
    for tag, pattern in (
        ("bool", r"true|True|TRUE|false|False|FALSE"),
        ("null", r"~|null|Null|NULL|"),
        ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"),
        ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"),
        ("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"),
    )
)
"""The core schema of YAML 1.2."""
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]")
_BEGINS = frozenset("tTfF~nN-+0123456789.")


@rule("E005")
def odd_space_in_key(character: str) -> ProblemText:
    return odd_space_words(character)


@rule("E005")
def key_is_no_text() -> ProblemText:
    return ProblemText("a key must be a string", fix='put a template in quotes: "{{ ... }}"')


@rule("E005")
def merge_key() -> ProblemText:
    return ProblemText(
        "the merge key `<<` is not part of YAML 1.2",
        fix="write the keys out, or use `config` on a task",
    )


@rule("E003")
def repeated_key(key: str, first_line: int) -> ProblemText:
    return ProblemText(
        f"duplicate key {key!r}; its first value is on line {first_line}",
        fix="keep one of the two",
    )


@rule("W529")
def leading_zeros(text: str) -> ProblemText:
    return ProblemText(
        f"{text} is the number {int(text[:300])}: its leading zeros are lost",
        fix="put it in quotes to write it as a string, or leave the zeros out",
        edit=Quote(),
    )


@rule("E005")
def nul_character() -> ProblemText:
    return ProblemText("the character U+0000 is not allowed", fix="write the text without it")


@rule("E005")
def tag_not_allowed(tag: str) -> ProblemText:
    return ProblemText(
        f"the tag {tag!r} is not allowed", fix="remove it: a value has the type it is written in"
    )


@rule("E005")
def unreadable_scalar(text: str, defect: str) -> ProblemText:
    fix = "put it in quotes to write it as a string"
    match defect:
        case "too_large":
            beginning = f"{text[:20]}{'...' if len(text) > 20 else ''}"
            return ProblemText(f"{beginning} is too large for a number", fix=fix)
        case "not_json":
            return ProblemText(f"{text} is not a JSON number", fix=fix)
        case "not_a_number":
            return ProblemText(f"{text!r} is not a number", fix=fix)
        case _:
            return ProblemText(f"{text!r} is neither true nor false", fix=fix)


class _TreeReader:
    """Turns YAML's events into our nodes and refuses what the language refuses."""

    def __init__(self, problems: Problems, events: YamlEvents) -> None:
        self.problems = problems
        self.events = events
        self.next = 0
        """Index of the event that is read next."""
        self.count = 0
        self.open: set[int] = set()
        self.exploded = False

    def node(self, path: NodePath, key_mark: Mark | None) -> Node:
        """Return the value that starts with the next event."""
        number = self.next
        event = self.events.found[number]
        if isinstance(event, AliasEvent):
            self.next = self.events.anchors[str(event.anchor)]
            node = self.node(path, key_mark)
            self.next = number + 1
            return node
        mark = self.events.marks[number]
        self.count += 1
        if number in self.open or self.count > MAX_NODES or len(path) > MAX_DEPTH:
            self._explode(mark, path)
            self._skip()
            return Node(None, mark, key_mark)
        if isinstance(event, ScalarEvent):
            self.next += 1
            indent = self.events.indents.get(number)
            return Node(self._scalar(event, path, mark), mark, key_mark, indent)
        if isinstance(event, CollectionStartEvent):
            self._tag(event, path, mark)
        self.open.add(number)
        self.next += 1
        is_mapping = isinstance(event, MappingStartEvent)
        items: list[Node] = []
        while not is_mapping and not self._take_end():
            items.append(self.node((*path, len(items)), None))
        value = self._entries(path) if is_mapping else items
        self.next += 1
        self.open.discard(number)
        return Node(value, mark, key_mark)

    def _skip(self) -> None:
        """Skip the value that starts with the next event."""
        self.next = self.events.ends.get(self.next, self.next + 1)

    def _explode(self, mark: Mark, path: NodePath) -> None:
        if not self.exploded:
            self.problems.report(document_explodes(), Place(mark, path))
        self.exploded = True

    def _take_end(self) -> bool:
        return isinstance(self.events.found[self.next], CollectionEndEvent)

    def _entries(self, path: NodePath) -> dict[str, Node]:
        entries: dict[str, Node] = {}
        marks: dict[str, Mark] = {}
        while not self._take_end():
            mark, key = self._key(path, marks)
            if key is None:
                self._skip()
            else:
                marks[key] = mark
                entries[key] = self.node((*path, key), mark)
        return entries

    def _key(self, path: NodePath, marks: dict[str, Mark]) -> tuple[Mark, str | None]:
        """Return the key that starts with the next event; None if its value must be skipped."""
        number = self.next
        event = self.events.found[number]
        self._skip()
        if isinstance(event, AliasEvent):
            number = self.events.anchors[str(event.anchor)]
            event = self.events.found[number]
        mark = self.events.marks[number]
        if not isinstance(event, ScalarEvent):
            self.problems.report(key_is_no_text(), Place(mark, path))
            return mark, None
        key = event.value
        if "\0" in key:
            self._refuse_nul(path, mark)
            return mark, None
        if key == "<<" and not event.style:
            self.problems.report(merge_key(), Place(mark, path))
            return mark, None
        odd = None if event.style else find_odd_space(key)
        if odd is not None:
            at = mark._replace(column=mark.column + odd)
            self.problems.report(odd_space_in_key(key[odd]), Place(at, path))
            return mark, None
        if key in marks:
            self.problems.report(repeated_key(key, marks[key].line), Place(mark, (*path, key)))
            return mark, None
        return mark, key

    def _refuse_nul(self, path: NodePath, mark: Mark) -> None:
        self.problems.report(nul_character(), Place(mark, path))

    def _tag(
        self, event: ScalarEvent | CollectionStartEvent, path: NodePath, mark: Mark
    ) -> str | None:
        """Return the tag that is written at a value."""
        tag = event.tag
        if tag is None or tag == "!":
            return None
        if tag not in _TAGS:
            self.problems.report(tag_not_allowed(tag), Place(mark, path))
        return tag

    def _scalar(self, event: ScalarEvent, path: NodePath, mark: Mark) -> _Scalar:
        text = event.value
        if "\0" in text:
            self._refuse_nul(path, mark)
            return None
        tag = self._tag(event, path, mark)
        if tag is None:
            if not event.implicit[0]:
                return text
            tag = _plain_tag(text)
            if _LEADING_ZERO.match(text) and tag == f"{_CORE}int":
                self.problems.report(leading_zeros(text), Place(mark, path))
        try:
            return _scalar(text, tag)
        except UnreadableScalar as error:
            self.problems.report(unreadable_scalar(text, error.defect), Place(mark, path))
            return None


def _plain_tag(text: str) -> str:
    """Return the tag of a text that is written without quotes."""
    if not text or text[0] in _BEGINS:
        for tag, pattern in _PLAIN:
            if pattern.fullmatch(text):
                return tag
    return f"{_CORE}str"


def _scalar(text: str, tag: str) -> _Scalar:
    """Return the value of a text with this tag.

    Raises:
        UnreadableScalar: the text is not such a value.
    """
    try:
        match tag.removeprefix(_CORE):
            case "null":
                return None
            case "bool" if (word := text.lower()) in ("true", "false"):
                return word == "true"
            case "bool":
                raise UnreadableScalar("not_a_boolean")
            case "int" if len(text) <= _MAX_INTEGER_LENGTH:
                return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
            case "int":
                raise UnreadableScalar("too_large")
            case "float":
                return _finite(text)
            case _:
                return text
    except UnreadableScalar:
        raise
    except ValueError:
        raise UnreadableScalar("not_a_number") from None


def _finite(text: str) -> float:
    if text.lower().endswith((".nan", ".inf")):
        raise UnreadableScalar("not_json")
    number = float(text)
    if not math.isfinite(number):
        raise UnreadableScalar("too_large")
    return number
