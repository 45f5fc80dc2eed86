"""What skills never change: the files that the worker, or whoever starts it, believes.

A plan that rewrites the worker's configuration decides at the next start which commands run and
which packages are imported. So these files are refused by their name, wherever they lie, and by
their place; spelling, links and hard links make no difference.
"""

import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path

_NAMES = {
    ".git": "which no skill touches",
    ".coterie": "which is the worker's own",
    "coterie.yml": "which the worker trusts",
    "system_config.yml": "which the worker trusts",
    ".env": "which holds secrets",
}
_EXAMPLES = (".env.example", ".env.sample", ".env.template", ".env.dist")
"""Beside `.env`; they hold no secret and are meant to be edited."""


def why_protected(parts: Iterable[str]) -> str | None:
    """Why no skill changes a file with one of these names on its path; None when it may."""
    for part in parts:
        name = _plain(part)
        if name.startswith(".env.") and name not in _EXAMPLES:
            name = ".env"
        if name in _NAMES:
            return f"{part!r}, {_NAMES[name]}"
    return None


def protected_place(path: Path, places: Iterable[Path]) -> Path | None:
    """The place that a real path lies at or below, or is another name of.

    Args:
        path: resolved; it need not exist.
        places: files and folders, absolute; they need not exist.
    """
    parts = _plain_parts(path)
    for place in places:
        for known in {place, place.resolve()}:
            above = _plain_parts(known)
            if parts[: len(above)] == above or _is_same(path, known):
                return place
    return None


def _is_same(path: Path, place: Path) -> bool:
    """One file under two names: a hard link."""
    try:
        return os.path.samefile(path, place)
    except OSError:
        return False


def _plain_parts(path: Path) -> tuple[str, ...]:
    return tuple(_plain(part) for part in path.parts)


def _plain(name: str) -> str:
    """A name as the most lenient file system compares it: no case, no invisible characters."""
    visible = "".join(one for one in name if unicodedata.category(one) != "Cf")
    return unicodedata.normalize("NFKC", visible).casefold().rstrip(". ")
