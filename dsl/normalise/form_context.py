"""The context that a written form may refer to implicitly.

Forms work on nodes, before validation by the models, so that every position is kept. "Older forms"
of docs/language.md lists the older ones; `replacements.py` refuses every other form.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from pydantic import JsonValue

from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Mark, Node
from coterie.dsl.values import NodePath


@dataclass(frozen=True)
class WholeDocument:
    """The document as it is while one of its parts is normalised; each answer is found once."""

    root: Node
    _values: dict[NodePath, JsonValue] = field(default_factory=dict[NodePath, JsonValue])

    def value_at(self, path: NodePath) -> JsonValue:
        """Return the plain value at a path; None if there is none."""
        if path not in self._values:
            node = self.root.get(path)
            self._values[path] = None if node is None else node.plain()
        return self._values[path]

    def path_of(self, node: Node) -> NodePath:
        """Return the path of a node, found by its position; `()` if the document lacks it."""
        return self._paths.get((node.at, node.mark), ())

    @cached_property
    def _paths(self) -> Mapping[tuple[Mark, Mark], NodePath]:
        """`{positions: the path of the first node there}`."""
        paths: dict[tuple[Mark, Mark], NodePath] = {}
        for path, node in _nodes(self.root, ()):
            paths.setdefault((node.at, node.mark), path)
        return paths


def _nodes(node: Node, path: NodePath) -> Iterator[tuple[NodePath, Node]]:
    """Yield a node and those below it, each before what it contains."""
    yield path, node
    for key, child in node.entries().items():
        yield from _nodes(child, (*path, key))
    for index, child in enumerate(node.items()):
        yield from _nodes(child, (*path, index))


@dataclass(frozen=True, slots=True)
class Here:
    """The context that an older form refers to implicitly."""

    whole: WholeDocument
    problems: Problems
    tasks: Collection[str] = ()
    """The tasks of the team, or the steps of the plan, for `{type: simple, field: task.path}`."""
    persona: str | None = None
    """The persona whose plan this is, for `llm_call`."""
    variables: Collection[str] = ()
    """The variables that the steps set, for `field` and plain `{key: value}` conditions."""

    @property
    def document(self) -> JsonValue:
        """The whole document's plain value, for `config_field`."""
        return self.whole.value_at(())

    def value_at(self, *path: str) -> JsonValue:
        """Return the document's value at the path; None if there is none."""
        return self.whole.value_at(path)

    def path_of(self, node: Node) -> NodePath:
        """Return the path of a node of the document; `()` if the document lacks it."""
        return self.whole.path_of(node)
