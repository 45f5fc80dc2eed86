"""YAML text -> tree of nodes with file, line and column. The one reader of YAML.

YAML 1.2 core rules: `on`, `yes` and `12:30` are texts. Refused, each with its position: duplicate
keys, tags, merge keys, aliases that loop or explode, keys that are not strings.
"""

from dsl.errors import InvalidDocument, Problem
from dsl.source.nodes import Mark, Node, Problems
from dsl.source.scalars import TAGS, BadScalar, Scalar, plain_tag, scalar
from dsl.source.yaml_events import (
    MAX_DEPTH,
    MAX_NODES,
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    MappingStartEvent,
    ScalarEvent,
    TextPositions,
    YamlEvents,
    document_events,
)
from dsl.values import NodePath
from dsl.wording.yaml_wording import (
    document_explodes,
    key_is_no_text,
    merge_key,
    not_a_mapping,
    nul_character,
    repeated_key,
    tag_not_allowed,
    unreadable_scalar,
)

REPEATED = "E003"
"""The code of a repeated key: the rest of the document can still be checked."""


def read(text: str, file: str, *, may_be_list: bool = False) -> Node:
    """Return the tree of one YAML document: a mapping, or a list where it may be one.

    Raises:
        InvalidDocument: the text is not YAML, or uses YAML that the language refuses.
    """
    tree, repeated = read_with_repeated(text, file, may_be_list=may_be_list)
    if repeated:
        raise InvalidDocument(repeated)
    return tree


def read_with_repeated(
    text: str, file: str, *, may_be_list: bool = False
) -> tuple[Node, list[Problem]]:
    """Return the tree, and a problem for each repeated key, whose first value counts.

    Raises:
        InvalidDocument: as `read`, for everything else.
    """
    text = text.removeprefix("\ufeff")
    positions = TextPositions(file, text)
    problems = Problems()
    events = document_events(text, positions, problems)
    if events is None:
        raise InvalidDocument(problems.errors)
    allowed = CollectionStartEvent if may_be_list else MappingStartEvent
    if not isinstance(events.root, allowed):
        problems.note("E004", positions.of(0), (), not_a_mapping())
        raise InvalidDocument(problems.errors)
    tree = _Reader(positions, problems, events).node((), None)
    if any(problem.code != REPEATED for problem in problems.errors):
        raise InvalidDocument(problems.errors)
    return tree, problems.errors


class _Reader:
    """Turns YAML's events into our nodes and refuses what the language refuses."""

    def __init__(self, positions: TextPositions, problems: Problems, events: YamlEvents) -> None:
        self.positions = positions
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
            self.problems.note("E005", mark, path, document_explodes())
        self.exploded = True

    def _take_end(self) -> bool:
        return isinstance(self.events.found[self.next], CollectionEndEvent)

    def _entries(self, path: NodePath) -> dict[str, Node]:
        entries: dict[str, Node] = {}
        seen: dict[str, Mark] = {}
        while not self._take_end():
            mark, key = self._key(path, seen)
            if key is None:
                self._skip()
            else:
                seen[key] = mark
                entries[key] = self.node((*path, key), mark)
        return entries

    def _key(self, path: NodePath, seen: dict[str, Mark]) -> tuple[Mark, str | None]:
        """Return the key that starts with the next event; None if its value must be skipped."""
        number = self.next
        event = self.events.found[number]
        self._skip()
        if isinstance(event, AliasEvent):
            number = self.events.anchors[str(event.anchor)]
            event = self.events.found[number]
        mark = self.events.marks[number]
        if not isinstance(event, ScalarEvent):
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

    def _tag(
        self, event: ScalarEvent | CollectionStartEvent, path: NodePath, mark: Mark
    ) -> str | None:
        """Return the tag that is written at a value."""
        written = event.tag
        if written is None or written == "!":
            return None
        if written not in TAGS:
            self.problems.note("E005", mark, path, tag_not_allowed(written))
        return written

    def _scalar(self, event: ScalarEvent, path: NodePath, mark: Mark) -> Scalar:
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
