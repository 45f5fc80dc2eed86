"""Set aside what a command puts where the worker trusts a file that did not exist.

A sandbox mounts existing files read-only; it cannot protect a name without a file, or the link that
leads to a file. So both are noted before a command, and looked at after it.
"""

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from coterie.activities.workspace.project_files import private_folder


@dataclass(frozen=True, slots=True)
class TrustedEntries:
    """Trusted names before a command ran."""

    root: Path
    absent: tuple[Path, ...] = ()
    """Names without a file; a folder comes before what it would hold."""
    links: tuple[tuple[Path, str], ...] = ()
    """Symlinks at or above trusted files, and where they lead."""


def trusted_entries(root: Path, trusted: Iterable[Path]) -> TrustedEntries:
    """Note what is at trusted paths below a root; blocking."""
    below = sorted({path for path in trusted if path != root and path.is_relative_to(root)})
    links = {
        entry: os.readlink(entry)
        for path in below
        for entry in _with_parents(path, root)
        if entry.is_symlink()
    }
    absent = (path for path in below if not os.path.lexists(path))
    return TrustedEntries(root, tuple(absent), tuple(links.items()))


def set_aside(before: TrustedEntries, folder: Path) -> tuple[str, ...]:
    """Move new files and changed links at trusted names into a folder, and restore the links.

    Nothing is deleted, because a person may have created the file meanwhile.

    Returns:
        The names, relative to the root.

    Raises:
        OSError: A file cannot be moved.
    """
    moved: list[str] = []
    for path, target in before.links:
        if not (path.is_symlink() and os.readlink(path) == target):
            if os.path.lexists(path):
                _move(path, folder)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(target)
            moved.append(path.relative_to(before.root).as_posix())
    for path in before.absent:
        # Through a link that leads outside, a command has reached nothing.
        if os.path.lexists(path) and path.parent.resolve().is_relative_to(before.root):
            _move(path, folder)
            moved.append(path.relative_to(before.root).as_posix())
    return tuple(moved)


def _with_parents(path: Path, root: Path) -> Iterator[Path]:
    while path != root:
        yield path
        path = path.parent


def _move(path: Path, folder: Path) -> None:
    private_folder(folder)
    with suppress(FileNotFoundError):
        shutil.move(path, folder / f"{path.name}.{secrets.token_hex(4)}")
