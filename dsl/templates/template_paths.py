"""The contents of a parsed template: the paths that it names, and whether it needs an engine."""

from collections.abc import Iterator
from typing import cast

from jinja2 import nodes

from coterie.dsl.paths import Path
from coterie.dsl.templates.jinja_engine import MAPPING_METHODS, TEXT_METHODS


def paths(tree: nodes.Template) -> dict[Path, int]:
    """Return every path of the facts that a template names, in order, with its first line."""
    first_lines: dict[Path, int] = {}
    for named, line in _paths(tree, frozenset(_names_set(tree))):
        first_lines.setdefault(named, line)
    return first_lines


def single_expression(tree: nodes.Template) -> nodes.Expr | None:
    """Return the expression if the text is exactly one expression; otherwise None."""
    match tree.body:
        case [nodes.Output(nodes=[only])] if not isinstance(only, nodes.TemplateData):
            return only
        case _:
            return None


def plain_pieces(tree: nodes.Template) -> tuple[str | Path, ...] | None:
    """Return the texts and plain paths of a template that has nothing else and needs no engine."""
    match tree.body:
        case [nodes.Output(nodes=parts)]:
            pieces = tuple(_plain_piece(node) for node in parts)
            return None if None in pieces else cast("tuple[str | Path, ...]", pieces)
        case _:
            return None


def _plain_piece(node: nodes.Expr) -> str | Path | None:
    match node:
        case nodes.TemplateData(data=data):
            return data
        case _ if is_plain_path(node):
            return next(path for path, _ in _chain(node, frozenset()))
        case _:
            return None


def is_plain_path(node: nodes.Node) -> bool:
    """Return whether the expression is a plain lookup, which needs no engine."""
    while not isinstance(node, nodes.Name):
        match node:
            case nodes.Getattr(node=inner):
                node = inner
            case nodes.Getitem(node=inner, arg=nodes.Const(value=str() | int())):
                node = inner
            case _:
                return False
    return node.name != "range"


def _names_set(tree: nodes.Template) -> Iterator[str]:
    yield "range"
    if tree.find(nodes.For) is not None:
        yield "loop"
    for node in tree.find_all(nodes.Name):
        if node.ctx in ("store", "param"):
            yield node.name


def _paths(node: nodes.Node, bound: frozenset[str]) -> Iterator[tuple[Path, int]]:
    match node:
        case nodes.Call(node=nodes.Getattr(node=inner, attr=attribute)) if (
            attribute in MAPPING_METHODS | TEXT_METHODS
        ):
            yield from _paths(inner, bound)
            for argument in (*node.args, *node.kwargs):
                yield from _paths(argument, bound)
        case nodes.Name() | nodes.Getattr() | nodes.Getitem():
            yield from _chain(node, bound)
        case _:
            for child in node.iter_child_nodes():
                yield from _paths(child, bound)


def _chain(node: nodes.Node, bound: frozenset[str]) -> Iterator[tuple[Path, int]]:
    """Yield the path of a chain of lookups; it ends at an index that only the run knows."""
    segments: list[str] = []
    while not isinstance(node, nodes.Name):
        match node:
            case nodes.Getattr(node=inner, attr=attribute):
                segments.append(attribute)
            case nodes.Getitem(node=inner, arg=nodes.Const(value=constant)):
                segments.append(str(constant))
            case nodes.Getitem(node=inner, arg=argument):
                segments.clear()
                yield from _paths(argument, bound)
            case _:
                yield from _paths(node, bound)
                return
        node = inner
    if node.name not in bound:
        yield (node.name, *reversed(segments)), node.lineno
