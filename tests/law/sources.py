"""The rooms' source files, and what each of them imports."""

import ast
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("dsl", "activities", "workflows", "config", "coterie")


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
    return frozenset(names)


def tops(names: AbstractSet[str]) -> set[str]:
    """The top-level packages of dotted names."""
    return {name.partition(".")[0] for name in names}
