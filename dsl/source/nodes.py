"""The tree of a document: every value with its position, and the changes of a tree."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

from pydantic import JsonValue

from coterie.dsl.values import Segment

# Tuples: a document has thousands of these, and a frozen dataclass takes twice as long to make.


class Mark(NamedTuple):
    """A position in a file; line and column count from 1."""

    file: str
    line: int
    column: int


class Place(NamedTuple):
    """The place of a problem: where it is written, and its path in the document."""

    mark: Mark
    path: Sequence[Segment]


class Node(NamedTuple):
    """A value of a document, with the positions of the value and its key."""

    value: "str | int | float | bool | dict[str, Node] | list[Node] | None"
    mark: Mark
    key_mark: Mark | None = None
    indent: int | None = None
    """For a `|` text: the indentation of its lines, which start below its mark, one for one."""

    @property
    def at(self) -> Mark:
        """The position that a reader looks for: of the key, or else of the value."""
        return self.key_mark or self.mark

    def plain(self) -> JsonValue:
        """Return the value without positions."""
        match self.value:
            case dict() as entries:
                return {key: node.plain() for key, node in entries.items()}
            case list() as items:
                return [node.plain() for node in items]
            case scalar:
                return scalar

    def child(self, segment: Segment) -> "Node | None":
        """Return the child node, or None."""
        match self.value, segment:
            case dict() as entries, str():
                return entries.get(segment)
            case list() as items, int() if segment < len(items):
                return items[segment]
            case _:
                return None

    def get(self, path: Sequence[Segment]) -> "Node | None":
        """Return the node at the path, or None."""
        node: Node | None = self
        for segment in path:
            node = None if node is None else node.child(segment)
        return node

    def has(self, path: Sequence[Segment]) -> bool:
        """Return whether there is a node at the path."""
        return self.get(path) is not None

    def find(self, path: Sequence[Segment]) -> "Node":
        """Return the node at the path, or the nearest existing one above it."""
        node = self
        for segment in path:
            below = node.child(segment)
            if below is None:
                return node
            node = below
        return node

    def key_at(self, path: Sequence[Segment]) -> Place:
        """Return the place of the key of the value at the path."""
        return Place(self.find(path).at, path)

    def value_at(self, path: Sequence[Segment]) -> Place:
        """Return the place of the value at the path."""
        return Place(self.find(path).mark, path)

    def entries(self) -> "dict[str, Node]":
        """Return the entries of a mapping; empty for anything else."""
        return self.value if isinstance(self.value, dict) else {}

    def items(self) -> "list[Node]":
        """Return the items of a list; empty for anything else."""
        return self.value if isinstance(self.value, list) else []

    def line(self, number: int, word: str = "") -> Mark:
        """Return the position of a line of the text, from 1, and of a word in it, if known."""
        if self.indent is None or not isinstance(self.value, str):
            return self.mark
        lines = _lines(self.value)
        text = lines[number - 1] if number <= len(lines) else ""
        offset = max(text.find(word), 0)
        return Mark(self.mark.file, self.mark.line + number, self.indent + offset + 1)

    def with_value(self, value: "dict[str, Node] | list[Node] | str | bool") -> "Node":
        """Return a node with another value at the same position."""
        return Node(value, self.mark, self.key_mark, self.indent)


@lru_cache(maxsize=8)
def _lines(text: str) -> list[str]:
    """Return the lines of a text, which may have thousands of problems."""
    return text.split("\n")


def text_node(at: Node, text: str) -> Node:
    """Return a text at the position of the node."""
    return Node(text, at.mark)


def is_below(path: Sequence[Segment], above: Sequence[Segment]) -> bool:
    """Return whether a path leads to the place, or below it."""
    return tuple(path[: len(above)]) == tuple(above)


def dotted(path: Sequence[Segment]) -> str:
    """Return a path as people write it: `teams.review.tasks[1].type`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def overlaid(base: Node, override: Node) -> Node:
    """Merge two documents: mappings recurse, lists replace, the override wins, null deletes."""
    if not isinstance(base.value, dict) or not isinstance(override.value, dict):
        return override
    merged = dict(base.value)
    for key, node in override.value.items():
        below = merged.get(key)
        if node.value is None and below is not None:
            del merged[key]
        else:
            merged[key] = node if below is None else overlaid(below, node)
    return override.with_value(merged)


Change = Callable[[Node], Node]
NO_CHANGES: Mapping[str, Change] = {}


def change_entries(
    node: Node, changes: Mapping[str, Change] = NO_CHANGES, *, each: Change | None = None
) -> Node:
    """Change the named entries of a mapping, as far as there are any.

    `each` changes every entry of a mapping instead, or every item of a list.
    """
    entries, items = node.entries(), node.items()
    if each is not None:
        if items:
            return node.with_value([each(item) for item in items])
        changes = dict.fromkeys(entries, each)
    changed = {key: change(entries[key]) for key, change in changes.items() if key in entries}
    return node.with_value({**entries, **changed}) if changed else node


def change_below(node: Node, path: tuple[str, ...], change: Change) -> Node:
    """Change the node at a path, if there is one."""
    if not node.has(path):
        return node
    if not path:
        return change(node)
    below = partial(change_below, path=path[1:], change=change)
    return change_entries(node, {path[0]: below})


def each_item(change: Change) -> Change:
    """Return the change of every item of a list, or of every value of a mapping."""
    return partial(change_entries, each=change)


def each_entry(change: Callable[[str, Node], Node]) -> Change:
    """Return the change of every value of a mapping, which may depend on its key."""

    def every(node: Node) -> Node:
        return change_entries(node, {key: partial(change, key) for key in node.entries()})

    return every
