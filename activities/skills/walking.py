"""Walk over a project's files, in a fixed order, as git would see them."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from activities.skills.globs import Globs, Ignores


@dataclass(frozen=True, slots=True)
class Entry:
    """A file that is meant, or something in its place that cannot be taken."""

    path: str
    """Relative to the root."""
    file: Path
    bytes: int = 0
    why_not: str = ""
    """Why its content cannot be had; empty for a regular file."""
    is_gap: bool = False
    """It belongs to the project, and is missing nevertheless."""


def walk(root: Path, top: Path, globs: Globs, never: Path) -> Iterator[Entry]:
    """Every file under `top` that is meant and not ignored, sorted by path.

    Symlinks are named and not followed. `.git` and `never` are as if they were not there.
    """
    ignores = Ignores()
    directory = root
    for part in (*top.relative_to(root).parts, ""):
        ignores = ignores.within(_prefix(root, directory), directory / ".gitignore")
        if not part:
            break
        directory = directory / part
    if top.is_dir():
        found = _directory(root, top, globs, ignores, never)
    else:
        path = top.relative_to(root).as_posix()
        found = iter([Entry(path, top, top.stat().st_size)])
    yield from sorted(found, key=lambda entry: entry.path)


def _directory(
    root: Path, directory: Path, globs: Globs, ignores: Ignores, never: Path
) -> Iterator[Entry]:
    prefix = _prefix(root, directory)
    try:
        with os.scandir(directory) as scan:
            children = list(scan)
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
        yield Entry(prefix or ".", directory, why_not=why, is_gap=True)
        return
    for child in children:
        path, file = prefix + child.name, Path(child.path)
        if child.name.casefold() == ".git" or file == never:
            continue
        if child.is_dir(follow_symlinks=False):
            if not ignores.ignore(f"{path}/") and globs.enter(path):
                deeper = ignores.within(f"{path}/", file / ".gitignore")
                yield from _directory(root, file, globs, deeper, never)
        elif not ignores.ignore(path) and globs.want(path):
            yield _entry(root, path, child)


def _entry(root: Path, path: str, child: os.DirEntry[str]) -> Entry:
    file = Path(child.path)
    if child.is_symlink():
        inside = os.path.realpath(file).startswith(f"{root}{os.sep}")
        where = os.readlink(file) if inside else "a place outside the project"
        return Entry(path, file, why_not=f"a symlink to {where}, not followed")
    if not child.is_file(follow_symlinks=False):
        return Entry(path, file, why_not="not a regular file")
    return Entry(path, file, child.stat(follow_symlinks=False).st_size)


def _prefix(root: Path, directory: Path) -> str:
    relative = directory.relative_to(root).as_posix()
    return "" if relative == "." else f"{relative}/"
