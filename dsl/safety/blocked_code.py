"""Find what code for a sandbox may not contain, in its syntax tree.

Only code is judged: a string that says `import`, a method called `format` and a variable called
`file` are harmless. The sandbox is the wall; this check gives the writer an early, clear answer.
"""

import ast
import re
import unicodedata
import warnings
from collections.abc import Iterator
from typing import Final

from coterie.dsl.safety.blocked_calls import BUILTINS, CALLS, INTERNALS, MODULES
from coterie.dsl.safety.blocked_rules import Blocked, cut
from coterie.dsl.safety.code_scopes import CodeScope, ScopedCode, scoped

_MAX_DEPTH: Final = 30
_MAX_STEPS: Final = 20_000
"""Of putting texts together."""
_MAX_TEXT: Final = 200
"""Characters of a text that code puts together."""
_MAX_NAMES: Final = 8
"""Meanings of one expression that are followed."""
_GETTERS: Final = ("getattr", "builtins.getattr")
_DELAYED_GETTERS: Final = ("operator.attrgetter", "operator.methodcaller")

Names = tuple[str, ...]


class CodeNames:
    """The names of the expressions of one text of code."""

    def __init__(self, code: ScopedCode) -> None:
        self._code = code
        self._known: dict[int, Names] = {}
        """By the identity of a node: each is looked at once."""
        self._bound: dict[tuple[int, str], Names] = {}
        """By scope and name."""
        self._open: set[tuple[int, str]] = set()
        self._steps = 0

    def names(self, node: ast.expr, scope: CodeScope, depth: int = 0) -> Names:
        """Return the full names that an expression may stand for, at most eight."""
        if id(node) in self._known:
            return self._known[id(node)]
        if depth > _MAX_DEPTH:
            return ()
        found = tuple(dict.fromkeys(map(_normal, self._names(node, scope, depth + 1))))
        self._known[id(node)] = found[:_MAX_NAMES]
        return self._known[id(node)]

    def text(self, node: ast.expr, scope: CodeScope, depth: int = 0) -> str | None:
        """Return the text that an expression of constants is, at most 200 characters."""
        self._steps += 1
        if depth > _MAX_DEPTH or self._steps > _MAX_STEPS:
            return None
        found = self._text(node, scope, depth + 1)
        return None if found is None or len(found) > _MAX_TEXT else found

    def _text(self, node: ast.expr, scope: CodeScope, depth: int) -> str | None:
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.Name(id=name):
                owner = scope.owner(name)
                values = owner.bound[name] if owner else []
                if owner is None or len(values) != 1 or values[0] is None:
                    return None
                return self.text(*values[0], depth)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._join("", [left, right], scope, depth)
            case ast.JoinedStr(values=values):
                return self._join("", values, scope, depth)
            case ast.FormattedValue(value=value):
                return self.text(value, scope, depth)
            case ast.Subscript(value=value, slice=ast.Slice(step=ast.UnaryOp(op=ast.USub()))):
                inner = self.text(value, scope, depth)
                return None if inner is None else inner[::-1]
            case ast.Call(func=ast.Attribute(value=value, attr=method), args=given):
                return self._text_of_method(value, method, given, scope, depth)
            case _:
                return None

    def _text_of_method(
        self, value: ast.expr, method: str, given: list[ast.expr], scope: CodeScope, depth: int
    ) -> str | None:
        text = self.text(value, scope, depth)
        match method, given:
            case _ if text is None:
                return None
            case "join", [ast.List(elts=parts) | ast.Tuple(elts=parts)]:
                return self._join(text, parts, scope, depth)
            case "lower", []:
                return text.lower()
            case "upper", []:
                return text.upper()
            case "strip", []:
                return text.strip()
            case "replace", [old, new]:
                texts = self.text(old, scope, depth), self.text(new, scope, depth)
                return (
                    text.replace(texts[0], texts[1]) if texts[0] and texts[1] is not None else None
                )
            case _:
                return None

    def _join(
        self, between: str, parts: list[ast.expr], scope: CodeScope, depth: int
    ) -> str | None:
        if len(parts) > _MAX_TEXT:
            return None
        texts = [self.text(part, scope, depth) for part in parts]
        known = [text for text in texts if text is not None]
        return between.join(known) if len(known) == len(texts) else None

    def _names(self, node: ast.expr, scope: CodeScope, depth: int) -> Names:
        match node:
            case ast.Name(id=name):
                return self._of_name(name, scope, depth)
            case ast.Attribute(value=value, attr=attr):
                return self._of_attribute(value, attr, scope, depth)
            case ast.Call():
                return self._of_call(node, scope, depth)
            case ast.Subscript(value=value, slice=key):
                return self._of_item(value, key, scope, depth)
            case ast.NamedExpr(value=value) | ast.Starred(value=value) | ast.Await(value=value):
                return self.names(value, scope, depth)
            case ast.IfExp(body=body, orelse=other):
                return self.names(body, scope, depth) + self.names(other, scope, depth)
            case ast.BoolOp(values=values):
                return tuple(one for value in values for one in self.names(value, scope, depth))
            case ast.BinOp(left=left, op=ast.Div()):
                return tuple(one for one in self.names(left, scope, depth) if one.endswith("()"))
            case _:
                return ()

    def _of_name(self, name: str, scope: CodeScope, depth: int) -> Names:
        owner = scope.owner(name)
        if owner is not None and (id(owner), name) in self._open:
            if owner.outer is not None and not owner.of_class:
                return ()
            owner = owner.outer.owner(name) if owner.outer else None  # `os = os` of a module
        if owner is None:
            return (name,)
        key = (id(owner), name)
        if key not in self._bound:
            self._open.add(key)
            self._bound[key] = self._of_values(owner.bound[name], depth)
            self._open.discard(key)
        return self._bound[key]

    def _of_values(self, values: list[tuple[ast.expr, CodeScope] | None], depth: int) -> Names:
        found: dict[str, None] = {}
        for value in values:
            found |= dict.fromkeys(self.names(*value, depth) if value else ())
        return tuple(found)[:_MAX_NAMES]

    def _of_attribute(self, value: ast.expr, attr: str, scope: CodeScope, depth: int) -> Names:
        found = tuple(f"{one}.{attr}" for one in self.names(value, scope, depth))
        given = self._code.attributes.get(attr, ())
        if len(given) <= _MAX_NAMES and not found:
            found = tuple(one for of, where in given for one in self.names(of, where, depth))
        return found

    def _of_call(self, node: ast.Call, scope: CodeScope, depth: int) -> Names:
        match node:
            case ast.Call(func=ast.Call() as getter, args=[value, *_]):
                if named := self._getter_name(getter, scope, depth):
                    return tuple(f"{one}.{named}" for one in self.names(value, scope, depth))
            case ast.Call(func=ast.Attribute(value=value, attr="get"), args=[key, *_]):
                if found := self._of_item(value, key, scope, depth):
                    return found
            case _:
                pass
        called = self.names(node.func, scope, depth)
        if any(one in _GETTERS for one in called) and len(node.args) > 1:
            named = self.text(node.args[1], scope, depth)
            values = self.names(node.args[0], scope, depth)
            return () if named is None else tuple(f"{one}.{named}" for one in values)
        if any(one in ("vars", "builtins.vars") for one in called) and node.args:
            return tuple(f"{one}.__dict__" for one in self.names(node.args[0], scope, depth))
        return tuple(f"{one}()" for one in called if not one.endswith("()"))

    def _getter_name(self, getter: ast.Call, scope: CodeScope, depth: int) -> str | None:
        """Return the attribute that `attrgetter("name")` or `methodcaller("name")` reads."""
        called = self.names(getter.func, scope, depth)
        if not getter.args or not any(one in _DELAYED_GETTERS for one in called):
            return None
        return self.text(getter.args[0], scope, depth)

    def _of_item(self, value: ast.expr, key: ast.expr, scope: CodeScope, depth: int) -> Names:
        """Return what an item of a written container is, or of a module's dictionary."""
        match value, key:
            case ((ast.List(elts=parts) | ast.Tuple(elts=parts)), ast.Constant(value=int(index))):
                return self.names(parts[index], scope, depth) if index < len(parts) else ()
            case ast.Dict(values=values), _:
                return tuple(one for part in values for one in self.names(part, scope, depth))
            case _:
                pass
        named = self.text(key, scope, depth)
        if named is None:
            return ()
        found: list[str] = []
        for one in self.names(value, scope, depth):
            if one.endswith(".__dict__"):
                found.append(f"{one.removesuffix('.__dict__')}.{named}")
            elif one in ("sys.modules", "vars()", "locals()"):
                found.append(named)
        return tuple(found)


def _normal(name: str) -> str:
    """Return a full name from the module that it belongs to: `shutil.os.system`, `random._os`."""
    parts = name.split(".")
    for place in range(len(parts) - 1, 0, -1):
        module = parts[place].lstrip("_")
        if module in MODULES and _is_module(parts[:place]):
            return ".".join((module, *parts[place + 1 :]))
    return name


def _is_module(parts: list[str]) -> bool:
    """Return whether names may be those of a module, which has others as attributes."""
    return parts[0] not in ("self", "cls") and "()" not in "".join(parts)


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
