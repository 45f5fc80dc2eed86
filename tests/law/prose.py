"""Finds the code that decides by prose: what compares, searches or parses a text for people."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

PROSE = {"message", "msg", "fix", "because", "reason", "why", "hint", "advice"}
"""What texts for people are called: variables, attributes, and keys."""

ERRORS = {"error", "exception", "exc", "failure"}
"""What exceptions are called; those that an `except` names are known besides."""

_KEEPS = {
    "strip",
    "lstrip",
    "rstrip",
    "lower",
    "upper",
    "casefold",
    "replace",
    "split",
    "rsplit",
    "splitlines",
    "join",
    "decode",
    "format",
    "title",
    "capitalize",
}
"""What is called on a text, or with it, and gives its words again."""

_SAYS = {"nearest", "asked_back", "listed"}
"""Functions of ours that give a text for people."""

_READS = {
    "startswith",
    "endswith",
    "find",
    "rfind",
    "index",
    "rindex",
    "count",
    "partition",
    "rpartition",
    "removeprefix",
    "removesuffix",
    "split",
    "rsplit",
}
_SEARCHES = {"search", "match", "fullmatch", "findall", "finditer", "split"}
_LINES = {"partition", "rpartition", "split", "rsplit"}
"""Those of `_READS` that lay a text out when they part it at the ends of its lines."""


@dataclass(frozen=True, order=True)
class Reading:
    """One place where a text for people decides."""

    function: str
    """Dotted, within its module; empty at its top."""
    line: int
    code: str


@dataclass
class _Scope:
    """One function: which of its variables hold prose, and which exceptions."""

    name: str
    prose: set[str] = field(default_factory=set[str])
    errors: set[str] = field(default_factory=set[str])


def readings(source: str) -> list[Reading]:
    """Every place of a module where a text for people is compared, searched or parsed."""
    return sorted(set(_of_body(ast.parse(source).body, _Scope(""))))


def _of_body(body: list[ast.stmt], scope: _Scope) -> Iterator[Reading]:
    inner: list[tuple[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, _Scope]] = []
    nodes = list(_own_nodes(body, scope, inner))
    before = -1
    while before != len(scope.prose):  # what is assigned from prose is prose, in any order
        before = len(scope.prose)
        for node in nodes:
            _assign(node, scope)
    for node in nodes:
        if _decides(node, scope):
            yield Reading(scope.name, getattr(node, "lineno", 0), ast.unparse(node))
    for below, its in inner:
        its.prose |= scope.prose if scope.name else set()
        yield from _of_body(below.body, its)


def _own_nodes(
    body: list[ast.stmt],
    scope: _Scope,
    inner: list[tuple[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, _Scope]],
) -> Iterator[ast.AST]:
    """All nodes but those of functions and classes within, which are put aside."""
    waiting: list[ast.AST] = list(reversed(body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner.append((node, _Scope(f"{scope.name}.{node.name}".lstrip("."))))
            continue
        if isinstance(node, ast.ExceptHandler) and node.name is not None:
            scope.errors.add(node.name)
        yield node
        waiting.extend(ast.iter_child_nodes(node))


def _assign(node: ast.AST, scope: _Scope) -> None:
    match node:
        case ast.Assign(targets=targets, value=value):
            _bind(targets, value, scope)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            _bind([target], value, scope)
        case ast.NamedExpr(target=target, value=value):
            _bind([target], value, scope)
        case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
            if isinstance(value, ast.Call):
                _bind([target], value, scope)
        case _:
            pass


def _bind(targets: list[ast.expr], value: ast.expr, scope: _Scope) -> None:
    if _is_prose(value, scope):
        scope.prose |= {target.id for target in targets if isinstance(target, ast.Name)}


def _is_prose(node: ast.expr, scope: _Scope) -> bool:
    match node:
        case ast.Name(id=name):
            return name in PROSE or name in scope.prose
        case ast.Attribute(attr=name):
            return name in PROSE or (name == "args" and _is_error(node.value, scope))
        case ast.Subscript(slice=ast.Constant(value=str(key))):
            return key in PROSE
        case ast.Call():
            return _gives_prose(node, scope)
        case ast.FormattedValue(value=value) if _is_error(value, scope):
            return True
        case _:
            return any(_is_prose(one, scope) for one in _parts(node))


def _parts(node: ast.expr) -> list[ast.expr]:
    """The expressions whose words an expression repeats."""
    match node:
        case ast.JoinedStr(values=values) | ast.BoolOp(values=values):
            return values
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return [left, right]
        case ast.IfExp(body=body, orelse=orelse):
            return [body, orelse]
        case (
            ast.Subscript(value=value)
            | ast.FormattedValue(value=value)
            | ast.NamedExpr(value=value)
        ):
            return [value]
        case _:
            return []


def _gives_prose(call: ast.Call, scope: _Scope) -> bool:
    match call.func:
        case ast.Name(id=name) if name in _SAYS:
            return True
        case ast.Name(id="str" | "repr") if len(call.args) == 1:
            return _is_error(call.args[0], scope) or _is_prose(call.args[0], scope)
        case ast.Attribute(value=value, attr=attr) if attr in _KEEPS:
            return any(_is_prose(one, scope) for one in (value, *call.args))
        case _:
            return False


def _is_error(node: ast.expr, scope: _Scope) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in ERRORS or (isinstance(node, ast.Name) and name in scope.errors)
        case _:
            return False


def _decides(node: ast.AST, scope: _Scope) -> bool:
    match node:
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            sides = [left, *comparators]
            compared = any(isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn) for op in ops)
            return compared and any(_is_prose(side, scope) for side in sides)
        case ast.Call(func=ast.Attribute(value=value, attr=attr), args=args):
            if attr in _READS and _is_prose(value, scope):
                return bool(args) and not (attr in _LINES and _is_line_end(args[0]))
            asked = args[:1] if attr == "get" else args
            return attr in (*_SEARCHES, "get") and any(_is_prose(one, scope) for one in asked)
        case ast.Subscript(slice=key):
            return not isinstance(key, ast.Slice) and _is_prose(key, scope)
        case ast.Match(subject=subject, cases=cases):
            return _is_prose(subject, scope) and any(map(_is_of_text, cases))
        case _:
            return False


def _is_line_end(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == "\n"


def _is_of_text(case: ast.match_case) -> bool:
    return any(
        isinstance(node, ast.Constant) and isinstance(node.value, str)
        for node in ast.walk(case.pattern)
    )
