"""Find what code for a sandbox may not contain, in its syntax tree.

Only code is judged: a string that says `import`, a method called `format` and a variable called
`file` are harmless. The sandbox is the wall; this check gives the writer an early, clear answer.
"""

import ast
import re
import unicodedata
import warnings
from collections.abc import Iterator

from coterie.dsl.safety.blocked_calls import BUILTINS, CALLS, INTERNALS
from coterie.dsl.safety.blocked_rules import Blocked, cut
from coterie.dsl.safety.code_names import CodeNames
from coterie.dsl.safety.code_scopes import CodeScope, ScopedCode, scoped

_IMPORT_LINE = re.compile(r"(?m)^[ \t]*(?:import[ \t]+[\w.]+|from[ \t]+[\w.]+[ \t]+import\b)")
_EXEC_LINE = re.compile(r"(?m)^[ \t]*exec[ \t]+['\"\w]")
_CALL = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, sorted(BUILTINS)))})[ \t]*\(")
_FULL_CALL = re.compile(r"(?<![\w.])(\w{1,20}(?:[ \t]{0,9}\.[ \t]{0,9}\w{1,30}){1,3})[ \t]{0,9}\(")
_IN_FORMAT = re.compile(r"\{[^{}]{0,200}?[.\[](\w{1,30})")
_NAMED = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
_TYPE_TESTS = ("isinstance", "issubclass", "cast", "typing.cast")

MAX_CODE = 100_000
"""Characters that are parsed; longer code is judged by its lines."""


def blocked_code(text: str) -> Blocked | None:
    """Return the first thing in Python code that is blocked; None for harmless code."""
    tree = _tree(text)
    return _by_lines(text) if tree is None else next(_blocked_in_tree(tree), None)


def blocked_program(text: str) -> Blocked | None:
    """Return the first call in a Python program that is blocked; it may import what it likes."""
    tree = _tree(text)
    if tree is None:
        return None
    loud = ("process", "deletion", "rights")
    found = (one for one in _blocked_in_tree(tree) if one.rule in loud)
    return next(found, None)


def _tree(text: str) -> ast.Module | None:
    if len(text) > MAX_CODE:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _blocked_in_tree(tree: ast.Module) -> Iterator[Blocked]:
    code = scoped(tree)
    names = CodeNames(code)
    types = _types(code)
    for node, scope in code.nodes:
        yield from _blocked_in_node(node, scope, names)
        if isinstance(node, _NAMED) and id(node) not in types:
            for name in names.names(node, scope):
                if name in CALLS:
                    yield Blocked(CALLS[name], cut(name.replace("()", "(...)")))


def _blocked_in_node(node: ast.AST, scope: CodeScope, names: CodeNames) -> Iterator[Blocked]:
    match node:
        case ast.Import(names=imported):
            yield Blocked("import", cut(f"import {', '.join(one.name for one in imported)}"))
        case ast.ImportFrom(module=module):
            yield Blocked("import", cut(f"from {module or '.'} import"))
        case ast.Name(id=name, ctx=ast.Load()) if name in BUILTINS:
            if name in names.names(node, scope):
                yield Blocked("builtin", name)
        case ast.Attribute(attr=name) if name in INTERNALS:
            yield Blocked("internals", name)
        case ast.Subscript(slice=key):
            if (name := names.text(key, scope)) in INTERNALS:
                yield Blocked("internals", name)
        case ast.Call(args=[*_, _]):
            yield from _internals_in_call(node, scope, names)
        case _:
            return


def _internals_in_call(node: ast.Call, scope: CodeScope, names: CodeNames) -> Iterator[Blocked]:
    """Yield the internals that a call reads by name: `getattr(x, "__globals__")`."""
    match node.func:
        case ast.Attribute(value=value, attr="format" | "format_map"):
            parts = _IN_FORMAT.findall(names.text(value, scope) or "")
        case _:
            called = {name.rpartition(".")[2] for name in names.names(node.func, scope)}
            if not called & {"getattr", "setattr", "delattr", "attrgetter", "methodcaller"}:
                return
            texts = [names.text(one, scope) or "" for one in node.args[:2]]
            parts = [part for text in texts for part in text.split(".")]
    yield from (Blocked("internals", part) for part in parts if part in INTERNALS)


def _types(code: ScopedCode) -> frozenset[int]:
    """Return the identities of the expressions that only name a type: nobody calls them there."""
    waiting = [one for node, _ in code.nodes for one in _places_of_types(node)]
    found: set[int] = set()
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Attribute() | ast.Name():
                found.add(id(node))
            case ast.Tuple(elts=parts):
                waiting += parts
            case ast.Subscript(value=value, slice=key):
                waiting += [value, key]
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                waiting += [left, right]
            case _:
                continue
    return frozenset(found)


def _places_of_types(node: ast.AST) -> list[ast.expr]:
    places: list[ast.expr | None] = []
    match node:
        case ast.FunctionDef(args=given) | ast.AsyncFunctionDef(args=given):
            parameters = (*given.posonlyargs, *given.args, *given.kwonlyargs)
            extra = (one for one in (given.vararg, given.kwarg) if one is not None)
            places = [node.returns, *(one.annotation for one in (*parameters, *extra))]
        case ast.AnnAssign(annotation=annotation):
            places = [annotation]
        case ast.ExceptHandler(type=caught):
            places = [caught]
        case ast.ClassDef(bases=bases):
            places = [*bases]
        case ast.Compare(left=left, comparators=others):
            places = [left, *others]
        case ast.Call(func=function, args=arguments) if _tests_a_type(function):
            places = [*arguments]
        case _:
            pass
    return [one for one in places if one is not None]


def _tests_a_type(function: ast.expr) -> bool:
    return isinstance(function, ast.Name | ast.Attribute) and ast.unparse(function) in _TYPE_TESTS


def _by_lines(text: str) -> Blocked | None:
    """Judge code that does not parse."""
    text = unicodedata.normalize("NFKC", text)  # as Python reads its names
    line = _IMPORT_LINE.search(text)
    if line is not None:
        return Blocked("import", cut(line[0]))
    if _EXEC_LINE.search(text):
        return Blocked("builtin", "exec")
    call = _CALL.search(text)
    if call is not None:
        return Blocked("builtin", call[0].rstrip("( \t"))
    for full in _FULL_CALL.finditer(text):
        name = re.sub(r"\s", "", full[1])
        if name in CALLS:
            return Blocked(CALLS[name], name)
    return None
