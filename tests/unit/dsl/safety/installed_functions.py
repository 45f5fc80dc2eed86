"""Functions of installed packages, drawn by a seed, and what they call by its full name."""

import ast
import importlib.metadata
import random
from collections.abc import Mapping, Set
from pathlib import Path

from coterie.dsl.safety.blocked_calls import BUILTINS, CALLS, INTERNALS

MAX_FILE = 40_000
"""Bytes of a file that is read: larger ones are mostly tables."""
MAX_OF_A_FILE = 12
"""Functions of one file."""


_LAST_PARTS = frozenset(name.rpartition(".")[2] for name in CALLS)
_PATH_METHODS = frozenset(name.rpartition(".")[2] for name in CALLS if "Path" in name)


def drawn_functions(number: int, seed: int) -> list[str]:
    """Return functions that neither import, nor use anything in the table, aliases resolved."""
    files = sorted(
        str(file.locate())
        for one in importlib.metadata.distributions()
        for file in one.files or ()
        if file.suffix == ".py" and 500 < (file.size or 0) < MAX_FILE
    )
    chance, found = random.Random(seed), list[str]()
    while len(found) < number:
        harmless = _harmless_functions(Path(chance.choice(files)))
        found += map(ast.unparse, chance.sample(harmless, min(MAX_OF_A_FILE, len(harmless))))
    return found[:number]


def _harmless_functions(file: Path) -> list[ast.AST]:
    try:
        tree = ast.parse(file.read_text())
    except (SyntaxError, ValueError, OSError):
        return []
    imported = _imported(tree)
    functions = [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return [one for one in functions if not _uses_table(one, imported)]


def _uses_table(function: ast.AST, imported: Mapping[str, str]) -> bool:
    nodes = list(ast.walk(function))
    own = {node.arg for node in nodes if isinstance(node, ast.arg)}
    own |= {
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    made = {imported.get(node.id, node.id) for node in nodes if isinstance(node, ast.Name)}
    if attributes & _PATH_METHODS and ("pathlib" in made or "pathlib.Path" in made):
        return True
    return any(_in_table(node, imported, own) for node in nodes)


def _imported(tree: ast.AST) -> Mapping[str, str]:
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                top = one.name.partition(".")[0]
                names[one.asname or top] = one.name if one.asname else top
        elif isinstance(node, ast.ImportFrom):
            for one in node.names:
                names[one.asname or one.name] = f"{'.' * node.level}{node.module}.{one.name}"
    return names


def _in_table(node: ast.AST, imported: Mapping[str, str], own: Set[str]) -> bool:
    """Return whether a node imports, reads a builtin of the table, or names something in it."""
    match node:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.Name(id=name, ctx=ast.Load()):
            return name not in own and (name in BUILTINS or imported.get(name, name) in CALLS)
        case ast.Attribute(attr=attr) if attr in INTERNALS:
            return True
        case ast.Attribute(attr=attr) if attr in _LAST_PARTS:
            name = ast.unparse(node)
            root, dot, rest = name.partition(".")
            return f"{imported.get(root, root)}{dot}{rest}" in CALLS
        case ast.Constant(value=str(text)):
            return text in INTERNALS
        case _:
            return False
