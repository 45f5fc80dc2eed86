"""The tree of a document: every value with its position; its changes; its problems."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pydantic import JsonValue

from dsl.errors import Code, Problem, Severity
from dsl.problem_details import Details, Remark, key_meant
from dsl.problem_texts import problem_text
from dsl.redaction import redacted
from dsl.values import NodePath, Segment

# Tuples: a document has thousands of these, and a frozen dataclass takes twice as long to make.


class Mark(NamedTuple):
    """A position in a file; line and column count from 1."""

    file: str
    line: int
    column: int


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
        lines = self.value.split("\n")
        text = lines[number - 1] if number <= len(lines) else ""
        found = max(text.find(word), 0)
        return Mark(self.mark.file, self.mark.line + number, self.indent + found + 1)

    def with_value(self, value: "dict[str, Node] | list[Node] | str | bool") -> "Node":
        """Return a node with another value at the same position."""
        return Node(value, self.mark, self.key_mark, self.indent)


@dataclass(slots=True)
class Problems:
    """Collects the problems of a document; one per position and code, in reading order."""

    found: list[Problem] = field(default_factory=list[Problem])
    step_of: "Callable[[NodePath], str] | None" = None
    """Returns the named step that contains a path, once the document can be read."""
    _gone: dict[NodePath, list[int]] = field(default_factory=dict[NodePath, list[int]])
    """`{path of a list: the original paths of the items that were removed from it}`."""

    def add(
        self,
        code: Code,
        mark: Mark,
        path: Sequence[Segment],
        message: str,
        *,
        allowed: str = "",
        fix: str = "",
        names: Collection[str] = (),
    ) -> None:
        """Note a problem that one check words itself, and the names that it is about."""
        self.note(code, mark, path, Remark(message, allowed, fix, tuple(names)))

    def note(self, code: Code, mark: Mark, path: Sequence[Segment], details: Details) -> None:
        """Note one problem with secrets masked; codes that start with W are warnings."""
        severity = "warning" if code.startswith("W") else "error"
        message, allowed, fix = problem_text(details)
        location = self.original_path(path)
        problem = Problem(
            code,
            mark.file,
            mark.line,
            mark.column,
            redacted(dotted(location)),
            redacted(message),
            redacted(allowed),
            redacted(fix),
            severity,
            "" if self.step_of is None else redacted(self.step_of(tuple(path))),
            location,
            details,
        )
        if problem not in self.found and not self._misspelt(problem):
            self.found.append(problem)

    def took_out(self, paths: Collection[NodePath]) -> None:
        """Note which items are removed from the tree at once; later paths do not count them."""
        written = [self._path_before_removals(path) for path in paths]
        for path in written:
            if path and isinstance(path[-1], int):
                self._gone.setdefault(path[:-1], []).append(path[-1])

    def _path_before_removals(self, path: Sequence[Segment]) -> NodePath:
        """Return a path in the remaining document as a path in the original one."""
        found: NodePath = ()
        for segment in path:
            if isinstance(segment, int):
                for gone in sorted(self._gone.get(found, ())):
                    segment += gone <= segment
            found = (*found, segment)
        return found

    def original_path(self, path: Sequence[Segment]) -> NodePath:
        """Return a path as a path in the original document."""
        return self._path_before_removals(path) if self._gone else tuple(path)

    def _misspelt(self, problem: Problem) -> bool:
        """Return whether a key is missing only because it is misspelled, already noted."""
        if problem.code != "E102" or not problem.location:
            return False
        *above, key = problem.location
        return any(
            earlier.code == "E101"
            and earlier.details is not None
            and key_meant(earlier.details) == key
            and is_below(earlier.location, above)
            for earlier in self.found
        )

    def has(self, code: Code, path: Sequence[Segment]) -> bool:
        """Return whether a problem of this code is noted at the place."""
        key_path = self.original_path(path)
        return any(problem.code == code and problem.location == key_path for problem in self.found)

    def below(self, path: Sequence[Segment]) -> Iterator[Problem]:
        """Yield the problems at the place and below it."""
        key_path = self.original_path(path)
        return (problem for problem in self.found if is_below(problem.location, key_path))

    @property
    def errors(self) -> list[Problem]:
        """The problems that prevent a plan, in reading order."""
        return self._of_severity("error")

    @property
    def warnings(self) -> list[Problem]:
        """The problems that do not prevent a plan, in reading order."""
        return self._of_severity("warning")

    def _of_severity(self, severity: Severity) -> list[Problem]:
        return sorted(
            (problem for problem in self.found if problem.severity == severity),
            key=lambda problem: (problem.file, problem.line, problem.column, problem.code),
        )


def path_of_node(root: Node, node: Node) -> NodePath:
    """Return the path of a node, found by its position; `()` if the tree lacks it."""

    def below(here: Node, path: NodePath) -> NodePath | None:
        if here.at == node.at and here.mark == node.mark:
            return path
        inner: list[tuple[Segment, Node]] = [*here.entries().items(), *enumerate(here.items())]
        found = (below(child, (*path, segment)) for segment, child in inner)
        return next((inner_path for inner_path in found if inner_path is not None), None)

    return below(root, ()) or ()


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


def change_below(node: Node, path: tuple[str, ...], change: Change) -> Node:
    """Change the node at a path, if there is one."""
    if not path:
        return change(node)
    entries = node.entries()
    if path[0] not in entries:
        return node
    changed = change_below(entries[path[0]], path[1:], change)
    return node.with_value({**entries, path[0]: changed})


def each_item(change: Change) -> Change:
    """Return the change of every item of a list, or of every value of a mapping."""

    def every(node: Node) -> Node:
        match node.value:
            case dict() as entries:
                return node.with_value({key: change(item) for key, item in entries.items()})
            case list() as items:
                return node.with_value([change(item) for item in items])
            case _:
                return node

    return every


def change_entries(node: Node, **changes: Change) -> Node:
    """Change the named entries of the mapping; a trailing underscore is not part of a name."""
    entries = node.entries()
    changed = {
        key: change(entries[key])
        for name, change in changes.items()
        if (key := name.rstrip("_")) in entries
    }
    return node.with_value({**entries, **changed}) if changed else node


def each_entry(change: Callable[[str, Node], Node]) -> Change:
    """Return the change of every value of a mapping, which may depend on its key."""

    def every(node: Node) -> Node:
        if not isinstance(node.value, dict):
            return node
        return node.with_value({key: change(key, item) for key, item in node.value.items()})

    return every
