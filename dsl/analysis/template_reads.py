"""Reads of templates and conditions, and whether each one needs its value to exist."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from jinja2 import nodes

from coterie.dsl.evaluate.operator_table import OPERATORS, WITHOUT_VALUE
from coterie.dsl.json_values import texts_within
from coterie.dsl.logic.expressions import path_of
from coterie.dsl.model.conditions import (
    AllOf,
    AnyOf,
    Condition,
    ContextField,
    Expression,
    Not,
    TaskField,
    TaskStatus,
)
from coterie.dsl.paths import MISSING, Path
from coterie.dsl.paths import parse as parse_path
from coterie.dsl.templates.jinja_engine import ENVIRONMENT, MAPPING_METHODS, TEXT_METHODS
from coterie.dsl.templates.path_templates import key_segments
from coterie.dsl.templates.template import is_template
from coterie.dsl.templates.template_paths import paths
from coterie.dsl.values import Json, NodePath

_TAKES_CARE = re.compile(r"\b(default|d|defined|undefined|if|elif|else|and|or|for)\b")
_METHODS = MAPPING_METHODS | TEXT_METHODS
_DEFAULTS = ("default", "d")
_ASKS = ("defined", "undefined")


class Read(NamedTuple):
    """One read of a path of the facts."""

    path: Path
    """`("context", "order", "id")`, `("tasks", "review", "data")`, or a variable's name."""
    document_path: NodePath
    needed: bool
    """Whether the text does not handle a missing value."""
    fails: bool = True
    """Whether a missing value fails the step; else a condition only does not hold."""
    asks: bool = False
    """Whether it is in a condition."""


def value_reads(value: object, document_path: NodePath) -> Iterator[Read]:
    """Return the reads of the templates in a value."""
    for text, place in texts_within(value, document_path):
        if is_template(text):
            for path, needed in reads_of(text):
                yield Read(path, place, needed)


def update_reads(updates: Json, path: NodePath) -> Iterator[Read]:
    """Return the reads of `context_updates`: of the templates in its keys and in its values."""
    for key, value in updates.items():
        for segment in key_segments(key):
            yield from value_reads(segment, (*path, key))
        yield from value_reads(value, (*path, key))


def condition_reads(condition: Condition, document_path: NodePath) -> Iterator[Read]:
    """Return the reads of a condition; it needs no value whose absence decides it just as well."""
    reads = list(_condition(condition, document_path, True))
    spared = [read.path for read in reads if not read.needed]
    for read in reads:
        if read.needed and any(read.path[: len(path)] == path for path in spared):
            yield read._replace(needed=False)
        else:
            yield read


def _condition(condition: Condition, document_path: NodePath, holds: bool) -> Iterator[Read]:
    match condition:
        case AllOf(all_of=parts) | AnyOf(any_of=parts):
            key = "and" if isinstance(condition, AllOf) else "or"
            for index, part in enumerate(parts):
                yield from _condition(part, (*document_path, key, index), holds)
        case Not(negated=part):
            yield from _condition(part, (*document_path, "not"), not holds)
        case ContextField(context_field=field):
            path = ("context", *parse_path(field))
            yield Read(
                path, (*document_path, "context_field"), _needs(condition, holds), False, True
            )
        case TaskField(task=task, output_field=field):
            path = ("tasks", task, "data", *parse_path(field))
            yield Read(path, (*document_path, "task"), _needs(condition, holds), False, True)
        case TaskStatus(task=task):
            yield Read(("tasks", task, "status"), (*document_path, "task"), holds, False, True)
        case Expression(expression=text):
            for read in value_reads(text, (*document_path, "expression")):
                yield read._replace(asks=True)
        case _:
            return


def _needs(condition: ContextField | TaskField, holds: bool) -> bool:
    """Return whether absence fails the condition and the condition does not test for presence."""
    if condition.operator in WITHOUT_VALUE:
        return False
    return OPERATORS[condition.operator].test(MISSING, condition.value) is not holds


@lru_cache(maxsize=65_536)  # more than the templates of a large document
def reads_of(text: str) -> tuple[tuple[Path, bool], ...]:
    """Return the paths of a template, and whether it certainly fails without each.

    Several passes ask. The text is parsed but never compiled here: the compiled templates of a
    large document do not fit into their cache, and each pass would compile them anew.
    """
    tree = ENVIRONMENT.parse(text)
    read_paths = paths(tree)
    if not _TAKES_CARE.search(text):
        return tuple((path, True) for path in read_paths)
    needed: set[Path] = set()
    spared: set[Path] = set()
    for path, certain in _looks(tree, True):
        (needed if certain else spared).add(path)
    return tuple(
        (path, path in needed and not any(path[: len(other)] == other for other in spared))
        for path in read_paths
    )


def _looks(node: nodes.Node, certain: bool) -> Iterator[tuple[Path, bool]]:
    """Yield each path that is read, whether always, and whether it must exist."""
    path = path_of(node) if isinstance(node, nodes.Name | nodes.Getattr | nodes.Getitem) else None
    if path is not None:
        yield path, certain
        return
    always, perhaps = _parts(node)
    for child in always:
        yield from _looks(child, certain)
    for child in perhaps:
        yield from _looks(child, False)


Nodes = Iterable[nodes.Node]


def _parts(node: nodes.Node) -> tuple[Nodes, Nodes]:
    """Split a node's children into those always evaluated and those optional."""
    children = list(node.iter_child_nodes())
    match node:
        case nodes.Filter(node=nodes.Node() as inner, name=name) if name in _DEFAULTS:
            return (), (inner,)
        case nodes.Test(name=name) if name in _ASKS:
            return (), children
        case nodes.Macro() | nodes.CallBlock():
            return (), children
        case nodes.CondExpr(test=first) | nodes.If(test=first) | nodes.For(iter=first):
            return (first,), [child for child in children if child is not first]
        case nodes.And(left=left, right=right) | nodes.Or(left=left, right=right):
            return (left,), (right,)
        case nodes.Call(node=nodes.Getattr(node=inner, attr=name)) if name in _METHODS:
            return (inner, *node.args, *node.kwargs), ()
        case _:
            return children, ()
