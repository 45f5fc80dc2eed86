"""Template expressions as formulas, where formulas can state them; otherwise opaque."""

from functools import lru_cache
from typing import Literal as OneOf
from typing import cast

from jinja2 import TemplateError, nodes
from pydantic import JsonValue

from coterie.dsl.evaluate.operator_table import OPERATORS
from coterie.dsl.logic.formulas import All, Formula, Opaque, TaskEnded, joined, tested
from coterie.dsl.model.conditions import Operator
from coterie.dsl.paths import Path
from coterie.dsl.templates.jinja_engine import ENVIRONMENT, MAPPING_METHODS, TEXT_METHODS

_FALSY: list[JsonValue] = [None, False, 0, "", [], {}]
_METHODS = MAPPING_METHODS | TEXT_METHODS
Comparison = OneOf["eq", "ne", "gt", "gteq", "lt", "lteq", "in", "notin"]
_TURNED: dict[str, Comparison] = {
    "eq": "eq",
    "ne": "ne",
    "gt": "lt",
    "gteq": "lteq",
    "lt": "gt",
    "lteq": "gteq",
}
_ORDERS: dict[str, Operator] = {
    "gt": "greater_than",
    "gteq": "greater_or_equal",
    "lt": "less_than",
    "lteq": "less_or_equal",
}


def expression(text: str, holds: bool) -> Formula:
    """Return the formula under which the expression is true, or false; a failure is neither."""
    when_true, when_false = both_formulas(text)
    return when_true if holds else when_false


@lru_cache(maxsize=65_536)  # more than the conditions of a large document: several passes ask
def both_formulas(text: str) -> tuple[Formula, Formula]:
    """Return the formulas under which the expression is true and false."""
    body = _single(text)
    if body is None:
        return Opaque(text, True), Opaque(text, False)
    return _formula(body, True), _formula(body, False)


def _single(text: str) -> nodes.Expr | None:
    """Return the one expression of a condition's text; None also for one that does not parse."""
    try:
        body = ENVIRONMENT.parse(text).body
    except TemplateError:
        return None
    match body:
        case [nodes.Output(nodes=[only])] if not isinstance(only, nodes.TemplateData):
            return only
        case _:
            return None


def path_of(node: nodes.Node) -> Path | None:
    """Return the path that a chain of plain lookups follows; None for anything else."""
    segments: list[str] = []
    while not isinstance(node, nodes.Name):
        match node:
            case nodes.Getattr(node=inner, attr=name):
                segments.append(name)
            case nodes.Getitem(node=inner, arg=nodes.Const(value=str() | int() as key)):
                segments.append(str(key))
            case _:
                return None
        node = inner
    return (node.name, *reversed(segments))


def _formula(node: nodes.Node, holds: bool) -> Formula:
    match node:
        case nodes.Const(value=value):
            return bool(cast("object", value)) is holds
        case nodes.Not(node=inner):
            return _formula(inner, not holds)
        case nodes.And(left=left, right=right):
            return joined((_formula(left, holds), _formula(right, holds)), every=holds)
        case nodes.Or(left=left, right=right):
            return joined((_formula(left, holds), _formula(right, holds)), every=not holds)
        case nodes.Compare(expr=left, ops=[nodes.Operand(op=op, expr=right)]):
            result = _comparison_formula(left, cast("Comparison", op), right, holds)
        case nodes.Test(node=inner, name=name, args=[]):
            result = _test_formula(inner, name, holds)
        case _:
            result = _truth(node, holds)
    return Opaque(repr(node), holds) if result is None else result


def _fact(node: nodes.Node) -> Path | None:
    """Return the path when it leads to JSON of the facts, where no method can shadow a field."""
    path = path_of(node)
    match path:
        case ("context", _, *rest) | ("tasks", _, "data", *rest):
            return None if _METHODS & set(path) or any(map(str.isdigit, rest)) else path
        case _:
            return None


def _truth(node: nodes.Node, holds: bool) -> Formula | None:
    match path_of(node):
        case ("tasks", task, "success"):
            return TaskEnded(task, "success", holds)
        case _:
            pass
    path = _fact(node)
    if path is None:
        return None
    falsy = tested(path, "in", _FALSY, not holds)
    return All((tested(path, "exists", None, True), falsy)) if holds else falsy


def _test_formula(node: nodes.Node, name: str, holds: bool) -> Formula | None:
    path = _fact(node)
    if path is None:
        return None
    match name:
        case "defined":
            return tested(path, "exists", None, holds)
        case "undefined":
            return tested(path, "exists", None, not holds)
        case "none":
            return tested(path, "equals", None, holds)
        case _:
            return None


def _comparison_formula(
    left: nodes.Node, op: Comparison, right: nodes.Node, holds: bool
) -> Formula | None:
    if isinstance(left, nodes.Const) and op in _TURNED:
        left, op, right = right, _TURNED[op], left
    if op in ("in", "notin"):
        return _among(left, right, holds is (op == "in"))
    if not isinstance(right, nodes.Const):
        return None
    value = cast("JsonValue", right.value)
    match path_of(left):
        case ("tasks", task, "status") if op in ("eq", "ne"):
            return _end_formula(task, value, holds is (op == "eq"))
        case _:
            pass
    path = _fact(left)
    if path is None:
        return None
    if op in ("eq", "ne"):
        return tested(path, "equals", value, holds is (op == "eq"))
    return _order_formula(path, op, value, holds)


def _end_formula(task: str, value: JsonValue, holds: bool) -> Formula:
    if value in ("success", "failure", "skipped"):
        return TaskEnded(task, value, holds)
    return not holds


def _order_formula(path: Path, op: Comparison, value: JsonValue, holds: bool) -> Formula | None:
    """Test order as Python does; it fails unless both are texts, or both numbers or booleans."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    operator = _ORDERS[op]
    kind = "string" if isinstance(value, str) else "number"
    alternatives: list[Formula] = [
        All((tested(path, "is_type", kind, True), tested(path, operator, value, holds)))
    ]
    if not isinstance(value, str):
        alternatives += [
            tested(path, "equals", flag, True)
            for flag in (False, True)
            if OPERATORS[operator].test(int(flag), value) is holds
        ]
    return joined(alternatives, every=False)


def _among(left: nodes.Node, right: nodes.Node, holds: bool) -> Formula | None:
    path = _fact(left)
    if path is None or not isinstance(right, nodes.List | nodes.Tuple):
        return None
    values: list[JsonValue] = []
    for item in right.items:
        if not isinstance(item, nodes.Const):
            return None
        values.append(cast("JsonValue", item.value))
    return joined((tested(path, "equals", value, holds) for value in values), every=not holds)
