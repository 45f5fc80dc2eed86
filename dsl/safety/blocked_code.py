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
        full_names = tuple(dict.fromkeys(map(_normal, self._names(node, scope, depth + 1))))
        self._known[id(node)] = full_names[:_MAX_NAMES]
        return self._known[id(node)]

    def text(self, node: ast.expr, scope: CodeScope, depth: int = 0) -> str | None:
        """Return the text that an expression of constants is, at most 200 characters."""
        self._steps += 1
        if depth > _MAX_DEPTH or self._steps > _MAX_STEPS:
            return None
        constant = self._text(node, scope, depth + 1)
        return None if constant is None or len(constant) > _MAX_TEXT else constant

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
            case ast.Call(func=ast.Attribute(value=value, attr=method), args=arguments):
                return self._text_of_method(value, method, arguments, scope, depth)
            case _:
                return None

    def _text_of_method(
        self, value: ast.expr, method: str, arguments: list[ast.expr], scope: CodeScope, depth: int
    ) -> str | None:
        text = self.text(value, scope, depth)
        match method, arguments:
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
        constants = [text for text in texts if text is not None]
        return between.join(constants) if len(constants) == len(texts) else None

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
                return tuple(
                    full_name for value in values for full_name in self.names(value, scope, depth)
                )
            case ast.BinOp(left=operand, op=ast.Div()):
                return tuple(
                    full_name
                    for full_name in self.names(operand, scope, depth)
                    if full_name.endswith("()")
                )
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
        names: dict[str, None] = {}
        for value in values:
            names |= dict.fromkeys(self.names(*value, depth) if value else ())
        return tuple(names)[:_MAX_NAMES]

    def _of_attribute(self, value: ast.expr, attr: str, scope: CodeScope, depth: int) -> Names:
        names = tuple(f"{name}.{attr}" for name in self.names(value, scope, depth))
        bindings = self._code.attributes.get(attr, ())
        if len(bindings) <= _MAX_NAMES and not names:
            names = tuple(name for of, where in bindings for name in self.names(of, where, depth))
        return names

    def _of_call(self, node: ast.Call, scope: CodeScope, depth: int) -> Names:
        match node:
            case ast.Call(func=ast.Call() as getter, args=[value, *_]):
                if named := self._getter_name(getter, scope, depth):
                    return tuple(f"{name}.{named}" for name in self.names(value, scope, depth))
            case ast.Call(func=ast.Attribute(value=value, attr="get"), args=[key, *_]):
                if item_names := self._of_item(value, key, scope, depth):
                    return item_names
            case _:
                pass
        function_names = self.names(node.func, scope, depth)
        if any(name in _GETTERS for name in function_names) and len(node.args) > 1:
            named = self.text(node.args[1], scope, depth)
            values = self.names(node.args[0], scope, depth)
            return () if named is None else tuple(f"{name}.{named}" for name in values)
        if any(name in ("vars", "builtins.vars") for name in function_names) and node.args:
            return tuple(f"{name}.__dict__" for name in self.names(node.args[0], scope, depth))
        return tuple(f"{name}()" for name in function_names if not name.endswith("()"))

    def _getter_name(self, getter: ast.Call, scope: CodeScope, depth: int) -> str | None:
        """Return the attribute that `attrgetter("name")` or `methodcaller("name")` reads."""
        function_names = self.names(getter.func, scope, depth)
        if not getter.args or not any(name in _DELAYED_GETTERS for name in function_names):
            return None
        return self.text(getter.args[0], scope, depth)

    def _of_item(self, value: ast.expr, key: ast.expr, scope: CodeScope, depth: int) -> Names:
        """Return what an item of a written container is, or of a module's dictionary."""
        match value, key:
            case ((ast.List(elts=parts) | ast.Tuple(elts=parts)), ast.Constant(value=int(index))):
                return self.names(parts[index], scope, depth) if index < len(parts) else ()
            case ast.Dict(values=values), _:
                return tuple(name for part in values for name in self.names(part, scope, depth))
            case _:
                pass
        named = self.text(key, scope, depth)
        if named is None:
            return ()
        names: list[str] = []
        for name in self.names(value, scope, depth):
            if name.endswith(".__dict__"):
                names.append(f"{name.removesuffix('.__dict__')}.{named}")
            elif name in ("sys.modules", "vars()", "locals()"):
                names.append(named)
        return tuple(names)


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
    violations = (violation for violation in _blocked_in_tree(tree) if violation.rule in loud)
    return next(violations, None)


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
            yield Blocked("import", cut(f"import {', '.join(alias.name for alias in imported)}"))
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
            function_names = {name.rpartition(".")[2] for name in names.names(node.func, scope)}
            if not function_names & {"getattr", "setattr", "delattr", "attrgetter", "methodcaller"}:
                return
            texts = [names.text(argument, scope) or "" for argument in node.args[:2]]
            parts = [part for text in texts for part in text.split(".")]
    yield from (Blocked("internals", part) for part in parts if part in INTERNALS)


def _types(code: ScopedCode) -> frozenset[int]:
    """Return the identities of the expressions that only name a type: nobody calls them there."""
    waiting = [expression for node, _ in code.nodes for expression in _places_of_types(node)]
    identities: set[int] = set()
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Attribute() | ast.Name():
                identities.add(id(node))
            case ast.Tuple(elts=parts):
                waiting += parts
            case ast.Subscript(value=value, slice=key):
                waiting += [value, key]
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                waiting += [left, right]
            case _:
                continue
    return frozenset(identities)


def _places_of_types(node: ast.AST) -> list[ast.expr]:
    places: list[ast.expr | None] = []
    match node:
        case ast.FunctionDef(args=signature) | ast.AsyncFunctionDef(args=signature):
            parameters = (*signature.posonlyargs, *signature.args, *signature.kwonlyargs)
            extra = (rest for rest in (signature.vararg, signature.kwarg) if rest is not None)
            places = [node.returns, *(parameter.annotation for parameter in (*parameters, *extra))]
        case ast.AnnAssign(annotation=annotation):
            places = [annotation]
        case ast.ExceptHandler(type=caught):
            places = [caught]
        case ast.ClassDef(bases=bases):
            places = [*bases]
        case ast.Compare(left=first, comparators=others):
            places = [first, *others]
        case ast.Call(func=function, args=arguments) if _tests_a_type(function):
            places = [*arguments]
        case _:
            pass
    return [place for place in places if place is not None]


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
