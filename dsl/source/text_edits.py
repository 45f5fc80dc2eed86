"""Fixes of problems as edits of the text of a document: what they do not touch stays as it is."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from yaml import CSafeLoader, YAMLError, compose
from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

from coterie.dsl.errors import Problem
from coterie.dsl.problem_details import MoveBelow, Quote, Remove, Replace
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.yaml_events import document_events


class SourceEdit(NamedTuple):
    """A part of a text, by its first character and the one after its last, and its new text."""

    start: int
    end: int
    text: str


class _Entry(NamedTuple):
    """One entry of a mapping."""

    key: ScalarNode
    value: Node
    mapping: MappingNode


_PLAIN = re.compile(
    r"(?!(?:y|n|yes|no|on|off|true|false|null)\Z)[A-Za-z_][\w./-]*", re.ASCII | re.IGNORECASE
)
"""Texts that YAML reads as texts without quotes."""


class WrittenEntries:
    """The values of one text by their place, for the fixes of problems there."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0]
        for line in text.split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._scalars: dict[int, ScalarNode] = {}
        self._entries: dict[int, list[_Entry]] = {}
        """`{start of a key or a mapping: the entry, or the entries}`."""
        if document_events(text, "", Problems(), may_be_list=True) is None:
            return  # no YAML, or nested too deeply for the composer, which recurses
        try:
            root = compose(text, CSafeLoader)
        except (YAMLError, UnicodeEncodeError):
            return
        for node in _nodes(root):
            self._add(node)

    def _add(self, node: Node) -> None:
        if isinstance(node, ScalarNode):
            self._scalars.setdefault(node.start_mark.index, node)
        elif isinstance(node, MappingNode):
            for key, value in node.value:
                if isinstance(key, ScalarNode):
                    entry = _Entry(key, value, node)
                    for start in {key.start_mark.index, node.start_mark.index}:
                        self._entries.setdefault(start, []).append(entry)

    def edit(self, problem: Problem) -> SourceEdit | None:
        """Return the fix of a problem of this text; None if there is none that is certain here."""
        if not 1 <= problem.line < len(self._starts):
            return None
        start = self._starts[problem.line - 1] + problem.column - 1
        match problem.edit:
            case Replace(old, new, verbatim):
                return self._replacement(start, old, new, verbatim=verbatim)
            case Quote():
                node = self._scalars.get(start)
                if node is None or node.style or "\n" in self._source_of(node):
                    return None
                return SourceEdit(start, node.end_mark.index, json.dumps(self._source_of(node)))
            case Remove(key):
                entry = self._entry(start, key)
                return None if entry is None else self._removal(entry)
            case MoveBelow(key, above, name):
                entry = self._entry(start, key)
                return None if entry is None else self._move(entry, above, name)
            case None:
                return None

    def _source_of(self, node: Node) -> str:
        return self._text[node.start_mark.index : node.end_mark.index]

    def _entry(self, start: int, key: str) -> _Entry | None:
        matches = (entry for entry in self._entries.get(start, ()) if entry.key.value == key)
        return next(matches, None)

    def _replacement(self, start: int, old: str, new: str, *, verbatim: bool) -> SourceEdit | None:
        node = self._scalars.get(start)
        if node is None or node.value != old or node.style in ("|", ">"):
            return None
        source = self._source_of(node)
        if source.strip("'\"") != old:  # it has an anchor, a tag or an escape
            return None
        if verbatim or (not node.style and _PLAIN.fullmatch(new)):
            text = new
        elif node.style == "'" and "'" not in new:
            text = f"'{new}'"
        else:
            text = json.dumps(new, ensure_ascii=False)
        return SourceEdit(start, node.end_mark.index, text)

    def _lines(self, entry: _Entry) -> tuple[int, int] | None:
        """Return where the lines of an entry begin and end; None if it shares one with others."""
        first = self._text.rfind("\n", 0, entry.key.start_mark.index) + 1
        end = self._text.find("\n", _end(entry.value))
        last = len(self._text) if end < 0 else end + 1
        before = self._text[first : entry.key.start_mark.index]
        after = self._text[_end(entry.value) : last].strip()
        if before.strip() or (after and not after.startswith("#")) or entry.mapping.flow_style:
            return None
        return first, last

    def _removal(self, entry: _Entry) -> SourceEdit | None:
        entries = entry.mapping.value
        if len(entries) < 2:
            return None
        number = next(i for i, (key, _) in enumerate(entries) if key is entry.key)
        lines = self._lines(entry)
        if lines is not None:
            return SourceEdit(*lines, "")
        if number + 1 < len(entries):  # the next entry moves to its place
            start, end = entry.key.start_mark.index, entries[number + 1][0].start_mark.index
        elif entry.mapping.flow_style:
            start, end = _end(entries[number - 1][1]), _end(entry.value)
        else:
            return None
        return None if "#" in self._text[_end(entry.value) : end] else SourceEdit(start, end, "")

    def _move(self, entry: _Entry, above: str, name: str) -> SourceEdit | None:
        keys = [
            key_node.value
            for key_node, _ in entry.mapping.value
            if isinstance(key_node, ScalarNode)
        ]
        if above in keys:
            return None
        key, value = entry.key, entry.value
        if isinstance(value, ScalarNode) and value.style not in ("|", ">"):
            tail = self._text[key.end_mark.index : value.end_mark.index]
            if "\n" not in tail:
                text = f"{above}: {{{name}{tail}}}"
                return SourceEdit(key.start_mark.index, value.end_mark.index, text)
        lines = self._lines(entry)
        if lines is None:
            return None
        first, last = lines
        indent = " " * (key.start_mark.index - first)
        moved = name + self._text[key.end_mark.index : last]
        below = "".join(
            f"  {line}" if line.strip() else line for line in (indent + moved).splitlines(True)
        )
        return SourceEdit(first, last, f"{indent}{above}:\n{below}")


def _nodes(root: Node | None) -> Iterator[Node]:
    """Yield each node of a tree once, although anchors can make it part of several."""
    open_, seen_ids = [root] if root is not None else [], set[int]()
    while open_:
        node = open_.pop()
        if id(node) in seen_ids:
            continue
        seen_ids.add(id(node))
        yield node
        if isinstance(node, MappingNode):
            open_ += [child for pair in node.value for child in pair]
        elif isinstance(node, SequenceNode):
            open_ += node.value


def _end(node: Node) -> int:
    """Return where a value ends: a block ends with its last value, not with what follows it."""
    while isinstance(node, CollectionNode) and not node.flow_style and node.value:
        node = node.value[-1] if isinstance(node, SequenceNode) else node.value[-1][1]
    if isinstance(node, ScalarNode) and node.style in ("|", ">"):
        return node.end_mark.index - 1
    return node.end_mark.index


def edited(text: str, edits: Iterable[SourceEdit]) -> str:
    """Return a text with edits, of which each begins after the one before it ends."""
    parts, position = list[str](), 0
    for edit in edits:
        parts += (text[position : edit.start], edit.text)
        position = edit.end
    return "".join((*parts, text[position:]))


def without_overlaps(edits: Iterable[SourceEdit]) -> Sequence[SourceEdit]:
    """Return edits in the order of the text; of those that overlap, the first."""
    result: list[SourceEdit] = []
    for edit in sorted(set(edits)):
        if not result or edit.start >= result[-1].end:
            result.append(edit)
    return result
