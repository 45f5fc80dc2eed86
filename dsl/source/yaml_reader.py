"""YAML text -> tree of nodes with file, line and column. The one reader of YAML.

YAML 1.2 core rules: `on`, `yes` and `12:30` are texts. Refused, each with its position: duplicate
keys, tags, merge keys, aliases that loop or explode, keys that are not strings.
"""

from collections.abc import Iterator

import yaml

from dsl.errors import Code, InvalidDocument, Problem
from dsl.problem_details import Details
from dsl.source.nodes import Mark, Node, Problems, dotted, overlaid, placed
from dsl.source.scalars import TAGS, BadScalar, Scalar, plain_tag, scalar
from dsl.source.text_places import RawMark, TextPlaces
from dsl.values import NodePath
from dsl.wording.yaml_wording import (
    character_not_allowed,
    document_explodes,
    key_is_no_text,
    merge_key,
    not_a_mapping,
    nul_character,
    repeated_anchor,
    repeated_key,
    second_document,
    tab_as_indentation,
    tag_not_allowed,
    unknown_anchor,
    unreadable_scalar,
    yaml_syntax,
)

__all__ = ["Mark", "Node", "Problems", "dotted", "overlaid", "placed", "read"]

REPEATED = "E003"
"""The code of a repeated key: the rest of the document can still be checked."""

_MAX_NODES = 200_000
_MAX_DEPTH = 100


def read(text: str, file: str) -> Node:
    """Return the tree of one YAML document.

    Raises:
        InvalidDocument: the text is not YAML, or uses YAML that the language refuses.
    """
    tree, repeated = read_with_repeated(text, file)
    if repeated:
        raise InvalidDocument(repeated)
    return tree


def read_with_repeated(text: str, file: str) -> tuple[Node, list[Problem]]:
    """Return the tree, and a problem for each repeated key, whose first value counts.

    Raises:
        InvalidDocument: as `read`, for everything else.
    """
    text = text.removeprefix("\ufeff")
    places = TextPlaces(file, text)
    problems = Problems()
    events = _events(text, places, problems)
    if events is not None and not isinstance(events.root, yaml.MappingStartEvent):
        problems.note("E004", places.of(0), (), not_a_mapping())
    if events is None or problems.errors:
        raise InvalidDocument(problems.errors)
    tree = _Reader(places, problems, events).node((), None)
    if any(problem.code != REPEATED for problem in problems.errors):
        raise InvalidDocument(problems.errors)
    return tree, problems.errors


def top_keys(text: str) -> Iterator[str]:
    """Yield the keys of the outermost mapping one by one, and parse no more text than needed.

    It stops early at text that `read` refuses; only `read` says whether the text is valid.
    """
    parser = yaml.CSafeLoader(text.removeprefix("\ufeff"))
    depth, is_key = 0, True
    try:
        while (event := parser.get_event()) is not None:
            if isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            elif isinstance(event, yaml.NodeEvent):
                if depth == 0 and not isinstance(event, yaml.MappingStartEvent):
                    return
                if depth == 1:
                    if is_key and isinstance(event, yaml.ScalarEvent):
                        yield event.value
                    is_key = not is_key
                if isinstance(event, yaml.CollectionStartEvent):
                    depth += 1
    except (yaml.YAMLError, UnicodeEncodeError):
        return


def _events(text: str, places: "TextPlaces", problems: Problems) -> "_Events | None":
    """Return the events of YAML's parser; None, and a problem, if the text is not YAML."""
    try:
        return _Events(text)
    except _Refused as error:
        problems.note(error.code, places.at(error.mark), (), error.details)
    except yaml.MarkedYAMLError as error:
        raw = error.problem_mark or error.context_mark
        if raw and raw.line >= len(text.splitlines()):
            raw = error.context_mark  # noticed only at the end; the start is more helpful
        if raw is not None and text[raw.index : raw.index + 1] == "\t":
            problems.note("E002", places.at(raw), (), tab_as_indentation())
            return None
        reason = ", ".join(part for part in (error.context, error.problem) if part)
        problems.note("E002", places.at(raw), (), yaml_syntax(reason))
    except (yaml.YAMLError, UnicodeEncodeError) as error:
        start = _unreadable(error, text)
        problems.note("E002", places.of(start), (), character_not_allowed(text[start]))
    return None


class _Refused(Exception):
    """YAML that its parser accepts, and that a reader of one tree cannot."""

    def __init__(self, code: Code, mark: RawMark | None, details: Details) -> None:
        self.code: Code = code
        self.mark = mark
        self.details = details
        super().__init__(code)


class _Events:
    """The events of the one document of a text, and how they belong together.

    YAML's own composer calls itself for every level, so a text of a few kilobytes would overflow
    the stack of the whole process.

    Raises:
        _Refused: nested too deeply, or inconsistent anchors or documents.
        YAMLError: the text is not YAML.
    """

    def __init__(self, text: str) -> None:
        self.found: list[yaml.Event] = []
        """Only the events of values."""
        self.ends: dict[int, int] = {}
        """`{event that starts a collection: the event after its end}`."""
        self.anchors: dict[str, int] = {}
        """`{anchor: the event of its value}`."""
        parser = yaml.CSafeLoader(text)
        open_: list[int] = []
        while (event := parser.get_event()) is not None:
            if isinstance(event, yaml.NodeEvent):
                self._value(event, open_)
            elif isinstance(event, yaml.CollectionEndEvent):
                self.ends[open_.pop()] = len(self.found) + 1
                self.found.append(event)
            elif isinstance(event, yaml.DocumentStartEvent) and self.found:
                raise _Refused("E002", event.start_mark, second_document())

    @property
    def root(self) -> yaml.Event | None:
        """Return the start of the document's value; None if there is no document."""
        return self.found[0] if self.found else None

    def _value(self, event: yaml.NodeEvent, open_: list[int]) -> None:
        number = len(self.found)
        self.found.append(event)
        if isinstance(event, yaml.CollectionStartEvent):
            open_.append(number)
        if len(open_) > _MAX_DEPTH or number > _MAX_NODES:
            raise _Refused("E005", event.start_mark, document_explodes())
        name = event.anchor
        if name is None:
            return
        if isinstance(event, yaml.AliasEvent):
            if name not in self.anchors:
                raise _Refused("E002", event.start_mark, unknown_anchor(name))
        elif name in self.anchors:
            raise _Refused("E002", event.start_mark, repeated_anchor(name))
        else:
            self.anchors[name] = number


def _unreadable(error: yaml.YAMLError | UnicodeEncodeError, text: str) -> int:
    """Return the index of a character that YAML does not allow."""
    if isinstance(error, UnicodeEncodeError):
        return error.start
    position = getattr(error, "position", 0)  # in bytes
    return len(text.encode()[:position].decode(errors="ignore"))


class _Reader:
    """Turns YAML's events into our nodes and refuses what the language refuses."""

    def __init__(self, places: TextPlaces, problems: Problems, events: _Events) -> None:
        self.places = places
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
        if isinstance(event, yaml.AliasEvent):
            self.next = self.events.anchors[str(event.anchor)]
            node = self.node(path, key_mark)
            self.next = number + 1
            return node
        mark = self.places.at(event.start_mark)
        self.count += 1
        if number in self.open or self.count > _MAX_NODES or len(path) > _MAX_DEPTH:
            self._explode(mark, path)
            self._skip()
            return Node(None, mark, key_mark)
        if isinstance(event, yaml.ScalarEvent):
            self.next += 1
            indent = self._indent(mark) if event.style == "|" else None
            return Node(self._scalar(event, path, mark), mark, key_mark, indent)
        if isinstance(event, yaml.CollectionStartEvent):
            self._tag(event, path, mark)
        self.open.add(number)
        self.next += 1
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        value = self._entries(path) if is_mapping else self._items(path)
        self.next += 1
        self.open.discard(number)
        return Node(value, mark, key_mark)

    def _skip(self) -> None:
        """Skip the value that starts with the next event."""
        self.next = self.events.ends.get(self.next, self.next + 1)

    def _explode(self, mark: Mark, path: NodePath) -> None:
        if not self.exploded:
            self.problems.note("E005", mark, path, document_explodes())
        self.exploded = True

    def _ended(self) -> bool:
        return isinstance(self.events.found[self.next], yaml.CollectionEndEvent)

    def _items(self, path: NodePath) -> list[Node]:
        items: list[Node] = []
        while not self._ended():
            items.append(self.node((*path, len(items)), None))
        return items

    def _entries(self, path: NodePath) -> dict[str, Node]:
        entries: dict[str, Node] = {}
        seen: dict[str, Mark] = {}
        while not self._ended():
            mark, key = self._key(path, seen)
            if key is None:
                self._skip()
            else:
                seen[key] = mark
                entries[key] = self.node((*path, key), mark)
        return entries

    def _key(self, path: NodePath, seen: dict[str, Mark]) -> tuple[Mark, str | None]:
        """Return the key that starts with the next event; None if its value must be skipped."""
        event = self.events.found[self.next]
        self._skip()
        if isinstance(event, yaml.AliasEvent):
            event = self.events.found[self.events.anchors[str(event.anchor)]]
        mark = self.places.at(event.start_mark)
        if not isinstance(event, yaml.ScalarEvent):
            self.problems.note("E005", mark, path, key_is_no_text())
            return mark, None
        key = event.value
        if "\0" in key:
            self._refuse_nul(path, mark)
            return mark, None
        if key == "<<" and not event.style:
            self.problems.note("E005", mark, path, merge_key())
            return mark, None
        if key in seen:
            self.problems.note("E003", mark, (*path, key), repeated_key(key, seen[key].line))
            return mark, None
        return mark, key

    def _refuse_nul(self, path: NodePath, mark: Mark) -> None:
        self.problems.note("E005", mark, path, nul_character())

    def _indent(self, mark: Mark) -> int:
        lines = self.places.lines
        texts = (lines[number] for number in range(mark.line, len(lines)))
        first = next((text for text in texts if text.strip()), "")
        return len(first) - len(first.lstrip(" "))

    def _tag(
        self, event: yaml.ScalarEvent | yaml.CollectionStartEvent, path: NodePath, mark: Mark
    ) -> str | None:
        """Return the tag that is written at a value."""
        written = event.tag
        if written is None or written == "!":
            return None
        if written not in TAGS:
            self.problems.note("E005", mark, path, tag_not_allowed(written))
        return written

    def _scalar(self, event: yaml.ScalarEvent, path: NodePath, mark: Mark) -> Scalar:
        text = event.value
        if "\0" in text:
            self._refuse_nul(path, mark)
            return None
        tag = self._tag(event, path, mark)
        if tag is None:
            if not event.implicit[0]:
                return text
            tag = plain_tag(text)
        try:
            return scalar(text, tag)
        except BadScalar as error:
            self.problems.note("E005", mark, path, unreadable_scalar(text, error.defect))
            return None
