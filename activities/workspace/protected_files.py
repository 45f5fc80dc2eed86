"""Files that functions never change, because the worker or the person who starts it trusts them.

A plan that rewrites the worker's configuration would decide at the next start which commands run
and which packages are imported. So these files are refused by name, wherever they are, and by path;
spelling, links and hard links make no difference.
"""

import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path

_NAMES = {
    ".git": "which no tool function may touch",
    ".coterie": "which belongs to the worker",
    "coterie.yml": "which the worker trusts",
    "coterie.tools.json": "which the worker trusts",
    "system_config.yml": "which the worker trusts",
    ".env": "which contains secrets",
}
_EXAMPLES = (".env.example", ".env.sample", ".env.template", ".env.dist")
"""Variants of `.env` without secrets, meant to be edited."""


def why_protected(parts: Iterable[str]) -> str | None:
    """Explain why functions may not change a path with one of these names; None if they may."""
    for part in parts:
        name = _plain(part)
        if name.startswith(".env.") and name not in _EXAMPLES:
            name = ".env"
        if name in _NAMES:
            return f"{part!r}, {_NAMES[name]}"
    return None


def protected_path(path: Path, places: Iterable[Path]) -> Path | None:
    """Return the protected place that a path is at, below, or a hard link of.

    Args:
        path: Resolved; it need not exist.
        places: Absolute files and folders; they need not exist.
    """
    parts = _plain_parts(path)
    for place in places:
        for candidate in {place, place.resolve()}:
            above = _plain_parts(candidate)
            if parts[: len(above)] == above or _is_same(path, candidate):
                return place
    return None


def _is_same(path: Path, place: Path) -> bool:
    """Return whether two paths are the same file: a hard link."""
    try:
        return os.path.samefile(path, place)
    except OSError:
        return False


def _plain_parts(path: Path) -> tuple[str, ...]:
    return tuple(_plain(part) for part in path.parts)


def _plain(name: str) -> str:
    """Normalise a name as the most lenient file system does: no case, no invisible characters."""
    visible = "".join(char for char in name if unicodedata.category(char) != "Cf")
    return unicodedata.normalize("NFKC", visible).casefold().rstrip(". ")
