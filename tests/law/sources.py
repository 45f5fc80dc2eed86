"""The rooms' source files, and what each of them imports.

Laws name modules by their folder: `dsl.errors` is `dsl/errors.py`, which Python imports as
`coterie.dsl.errors`.
"""

import ast
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("dsl", "activities", "workflows", "config", "coterie", "gateway")
_IMPORTED = tuple(f"coterie.{room}" for room in ROOMS)


def by_folder(name: str) -> str:
    """The module that Python imports by this name, as laws name it."""
    ours = any(name == room or name.startswith(f"{room}.") for room in _IMPORTED)
    return name.removeprefix("coterie.") if ours else name


def by_import(name: str) -> str:
    """The name by which Python imports a module of a room."""
    return name if name.partition(".")[0] == "coterie" else f"coterie.{name}"


def modules(room: str) -> Iterator[tuple[str, Path]]:
    """The room's modules: dotted name and file."""
    for file in sorted((ROOT / room).rglob("*.py")):
        parts = file.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), file


@cache
def imports(file: Path) -> frozenset[str]:
    """Every module that a file imports anywhere; for `from a import b` that is `a` and `a.b`."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None, f"{file}: imports here are absolute"
            assert node.level == 0, f"{file}: imports here are absolute"
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(map(by_folder, names))


def tops(names: AbstractSet[str]) -> set[str]:
    """The top-level packages of dotted names."""
    return {name.partition(".")[0] for name in names}
