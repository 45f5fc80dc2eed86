"""Which expressions a name of Python code may stand for, by Python's rules of scope."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

ScopedNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef


@dataclass(eq=False)
class CodeScope:
    """A scope, and what each of its names is bound to."""

    outer: "CodeScope | None" = None
    bound: dict[str, list[tuple[ast.expr, "CodeScope"] | None]] = field(
        default_factory=dict[str, list[tuple[ast.expr, "CodeScope"] | None]]
    )
    """`{name: (value, the scope that it stands in)}`; None where the value is not an expression of
    the code, as for a parameter."""
    outward: set[str] = field(default_factory=set[str])
    """Names that are `global` or `nonlocal`."""
    of_class: bool = False

    def bind(self, name: str, value: ast.expr | None, where: "CodeScope | None" = None) -> None:
        """Note one of the values of a name; it stands in this scope or in another."""
        if name in self.outward and self.outer is not None:
            self.outer.bind(name, value, self)
        else:
            binding = None if value is None else (value, where or self)
            self.bound.setdefault(name, []).append(binding)

    def owner(self, name: str) -> "CodeScope | None":
        """Return the scope that binds a name which is read here; None for a name from outside."""
        scope: CodeScope | None = self
        while scope is not None and (
            name not in scope.bound or (scope.of_class and scope is not self)
        ):
            scope = scope.outer
        return scope


@dataclass
class ScopedCode:
    """The nodes of code, each with its scope, and the values that attributes are given."""

    nodes: list[tuple[ast.AST, CodeScope]] = field(default_factory=list[tuple[ast.AST, CodeScope]])
    attributes: dict[str, list[tuple[ast.expr, CodeScope]]] = field(
        default_factory=dict[str, list[tuple[ast.expr, CodeScope]]]
    )


def scoped(tree: ast.Module) -> ScopedCode:
    """Return every node with its scope. Takes a time that grows with the code, and no recursion."""
    code = ScopedCode()
    waiting: list[tuple[ast.AST, CodeScope]] = [(tree, CodeScope())]
    while waiting:
        node, scope = waiting.pop()
        code.nodes.append((node, scope))
        waiting += reversed(list(_below(code, node, scope)))  # in the order of the text
    return code


def _below(
    code: ScopedCode, node: ast.AST, scope: CodeScope
) -> Iterator[tuple[ast.AST, CodeScope]]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda() | ast.ClassDef():
            yield from _below_scope(node, scope)
            return
        case ast.Call(func=ast.Lambda() as function, args=arguments):
            inner = CodeScope(scope)
            for parameter, value in zip(function.args.args, arguments, strict=False):
                inner.bind(parameter.arg, value, scope)
            yield from ((argument, scope) for argument in arguments)
            yield from ((keyword.value, scope) for keyword in node.keywords)
            yield from _below_scope(function, scope, inner)
            return
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            scope = CodeScope(scope)
        case ast.Import() | ast.ImportFrom():
            _bind_imports(node, scope)
        case _:
            _bind_statement(code, node, scope)
    for below in ast.iter_child_nodes(node):
        yield below, scope


def _bind_statement(code: ScopedCode, node: ast.AST, scope: CodeScope) -> None:
    match node:
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            scope.outward |= set(names)
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                _bind(code, target, value, scope)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            _bind(code, target, value, scope)
        case ast.NamedExpr(target=target, value=value):
            _bind(code, target, value, scope)
        case ast.AugAssign(target=target) | ast.withitem(optional_vars=ast.expr() as target):
            _bind(code, target, None, scope)
        case (
            ast.For(target=target, iter=items)
            | ast.AsyncFor(target=target, iter=items)
            | ast.comprehension(target=target, iter=items)
        ):
            _bind_items(code, target, items, scope)
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            scope.bind(name, None)
        case _:
            return


def _bind_imports(node: ast.Import | ast.ImportFrom, scope: CodeScope) -> None:
    """Bind imported names to the expressions that would read the same from their modules."""
    for alias in node.names:
        match node:
            case ast.Import():
                scope.bind(
                    alias.asname or alias.name.partition(".")[0],
                    _expression_of(alias.name, alias.asname),
                )
            case ast.ImportFrom(module=module):
                scope.bind(
                    alias.asname or alias.name, _expression_of(f"{module}.{alias.name}", "whole")
                )


def _expression_of(name: str, renamed: str | None) -> ast.expr:
    """Return the expression of a full name, or of its first part: what `import a.b` binds."""
    first, *others = name.split(".")
    expression: ast.expr = ast.Name(first, ast.Load())
    for attr in others if renamed else ():
        expression = ast.Attribute(expression, attr, ast.Load())
    return expression


def _below_scope(
    node: ScopedNode, scope: CodeScope, inner: CodeScope | None = None
) -> Iterator[tuple[ast.AST, CodeScope]]:
    """Yield what stands in the scope around a function or class, and what stands within."""
    if isinstance(node, ast.ClassDef):
        scope.bind(node.name, None)
        inner = CodeScope(scope, of_class=True)
        outside = [*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)]
    else:
        inner = inner or CodeScope(scope)
        _bind_parameters(node.args, inner)
        outside = [
            *node.args.defaults,
            *(value for value in node.args.kw_defaults if value is not None),
        ]
        if not isinstance(node, ast.Lambda):
            scope.bind(node.name, None)
            notes = [parameter.annotation for parameter in _parameters(node.args)] + [node.returns]
            outside += [*node.decorator_list, *(note for note in notes if note is not None)]
    yield from ((expression, scope) for expression in outside)
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    yield from ((part, inner) for part in body)


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    extra = [
        parameter for parameter in (arguments.vararg, arguments.kwarg) if parameter is not None
    ]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *extra]


def _bind_parameters(arguments: ast.arguments, scope: CodeScope) -> None:
    """Bind parameters to their defaults: a call may leave them out."""
    for parameter in _parameters(arguments):
        scope.bind(parameter.arg, None)
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = arguments.defaults
    pairs = [
        *zip(positional[len(positional) - len(defaults) :], defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    for parameter, default in pairs:
        if default is not None:
            scope.bind(parameter.arg, default, scope.outer)


def _bind(code: ScopedCode, target: ast.expr, value: ast.expr | None, scope: CodeScope) -> None:
    match target, value:
        case ast.Name(id=name), _:
            scope.bind(name, value)
            if scope.of_class and value is not None:
                code.attributes.setdefault(name, []).append((value, scope))
        case ast.Attribute(attr=name), ast.expr():
            code.attributes.setdefault(name, []).append((value, scope))
        case (
            (ast.Tuple(elts=parts) | ast.List(elts=parts)),
            (ast.Tuple(elts=values) | ast.List(elts=values)),
        ) if len(parts) == len(values):
            for part, part_value in zip(parts, values, strict=True):
                _bind(code, part, part_value, scope)
        case ((ast.Tuple(elts=parts) | ast.List(elts=parts)), _):
            for part in parts:
                _bind(code, part, None, scope)
        case ast.Starred(value=inner), _:
            _bind(code, inner, None, scope)
        case _:
            return


def _bind_items(code: ScopedCode, target: ast.expr, items: ast.expr, scope: CodeScope) -> None:
    """Bind the target of a loop to each item that is written out."""
    match items:
        case ast.Tuple(elts=values) | ast.List(elts=values) | ast.Set(elts=values):
            for value in values:
                _bind(code, target, value, scope)
        case _:
            _bind(code, target, None, scope)
