"""Find what code for a sandbox may not contain, in its syntax tree.

Only code is judged: a string that says `import`, a method called `format` and a variable called
`file` are harmless. The sandbox is the wall; this check gives the writer an early, clear answer.
"""

import ast
import re
import warnings
from collections.abc import Iterator

from dsl.safety.blocked_rules import Blocked, cut

BUILTINS = frozenset(
    (
        "open",
        "file",
        "exec",
        "execfile",
        "eval",
        "compile",
        "__import__",
        "input",
        "raw_input",
        "breakpoint",
        "globals",
        "__builtins__",
        "__loader__",
        "__spec__",
    )
)
_INTERNALS = frozenset(
    (
        "__globals__",
        "__builtins__",
        "__subclasses__",
        "__bases__",
        "__base__",
        "__mro__",
        "__class__",
        "__code__",
        "__closure__",
        "__dict__",
        "__getattribute__",
        "__import__",
        "__loader__",
        "__reduce__",
        "__reduce_ex__",
        "f_globals",
        "f_locals",
        "f_builtins",
        "f_back",
        "gi_frame",
        "cr_frame",
        "tb_frame",
    )
)
_IMPORT_LINE = re.compile(r"(?m)^[ \t]*(?:import[ \t]+[\w.]+|from[ \t]+[\w.]+[ \t]+import\b)")
_EXEC_LINE = re.compile(r"(?m)^[ \t]*exec[ \t]+['\"\w]")
_CALL = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, sorted(BUILTINS)))})[ \t]*\(")

MAX_CODE = 100_000
"""Characters that are parsed; longer code is judged by its lines."""


def blocked_code(text: str) -> Blocked | None:
    """Return the first thing in Python code that is blocked; None for harmless code."""
    tree = _tree(text)
    if tree is None:
        return _by_lines(text)
    bound = _bound_names(tree)
    return next((found for node in ast.walk(tree) for found in _blocked_in_node(node, bound)), None)


def _tree(text: str) -> ast.Module | None:
    if len(text) > MAX_CODE:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _blocked_in_node(node: ast.AST, bound: frozenset[str]) -> Iterator[Blocked]:
    match node:
        case ast.Import(names=names):
            yield Blocked("import", cut(f"import {', '.join(one.name for one in names)}"))
        case ast.ImportFrom(module=module):
            yield Blocked("import", cut(f"from {module or '.'} import"))
        case ast.Name(id=name, ctx=ast.Load()) if name in BUILTINS and name not in bound:
            yield Blocked("builtin", name)
        case ast.Attribute(attr=name) if name in _INTERNALS:
            yield Blocked("internals", name)
        case ast.Constant(value=str(text)) if text in _INTERNALS:
            yield Blocked("internals", text)
        case _:
            return


def _bound_names(tree: ast.Module) -> frozenset[str]:
    """Return the names that the code gives a meaning of its own by plain assignment or parameter.

    A name that is also read while it is assigned, as in `e = open`, keeps its first meaning.
    """
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets, value=value) if not _reads_builtins(value):
                found |= {target.id for target in targets if isinstance(target, ast.Name)}
            case ast.arg(arg=name):
                found.add(name)
            case ast.FunctionDef(name=name):
                found.add(name)
            case ast.For(target=ast.Name(id=name)):
                found.add(name)
            case ast.comprehension(target=ast.Name(id=name)):
                found.add(name)
            case _:
                continue
    return frozenset(found)


def _reads_builtins(value: ast.expr) -> bool:
    return any(isinstance(one, ast.Name) and one.id in BUILTINS for one in ast.walk(value))


def _by_lines(text: str) -> Blocked | None:
    """Judge code that does not parse."""
    line = _IMPORT_LINE.search(text)
    if line is not None:
        return Blocked("import", cut(line[0]))
    if _EXEC_LINE.search(text):
        return Blocked("builtin", "exec")
    call = _CALL.search(text)
    return None if call is None else Blocked("builtin", call[0].rstrip("( \t"))
