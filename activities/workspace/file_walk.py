"""Walk the project's files in a fixed order, as git sees them."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from coterie.activities.workspace.globs import Globs, Ignores
from coterie.activities.workspace.project_files import directory, read_at, status_of
from coterie.activities.workspace.secret_files import holds_secrets
from coterie.dsl.visible import is_unicode


@dataclass(frozen=True, slots=True)
class Entry:
    """A selected file, or an entry whose content is unavailable."""

    path: str
    """Relative to the root."""
    bytes: int = 0
    why_not: str = ""
    """Why its content is unavailable; empty for a regular file."""
    is_gap: bool = False
    """Whether it belongs to the project but is missing from the result."""


def walk(root: Path, top: Path, globs: Globs, never: Path) -> Iterator[Entry]:
    """Yield every selected, unignored file under `top`, sorted by path.

    Name symlinks, devices and FIFOs without opening them; likewise files whose names suggest
    secrets, even if git ignores them. Omit `.git` and `never` completely.
    """
    ignores = Ignores()
    relative = top.relative_to(root)
    for folder in reversed(relative.parents):
        above = folder.as_posix()
        prefix = "" if above == "." else f"{above}/"
        ignores = ignores.within(prefix, _ignore_file(root, above))
    path = relative.as_posix()
    status = status_of(root, path)
    if status is not None and stat.S_ISDIR(status.st_mode):
        entries = _directory(root, "" if path == "." else f"{path}/", globs, ignores, never)
    elif status is None:
        entries = iter([Entry(path, why_not="is gone", is_gap=True)])
    else:
        entries = iter([_entry(root, path, status)])
    yield from sorted(entries, key=lambda entry: entry.path)


def _ignore_file(root: Path, above: str) -> bytes | None:
    try:
        with directory(root, above) as handle:
            return _ignores_at(handle)
    except OSError:
        return None


def _ignores_at(handle: int) -> bytes | None:
    try:
        return read_at(handle, ".gitignore")
    except OSError:
        return None


def _directory(
    root: Path, prefix: str, globs: Globs, ignores: Ignores, never: Path
) -> Iterator[Entry]:
    """Yield the files of a directory, opened by its path without following links."""
    here = prefix.rstrip("/") or "."
    try:
        with directory(root, here) as handle, os.scandir(handle) as scan:
            ignores = ignores.within(prefix, _ignores_at(handle))
            children = [(child.name, child.stat(follow_symlinks=False)) for child in scan]
    except OSError as error:
        yield Entry(here, why_not=f"cannot be read: {error.strerror}", is_gap=True)
        return
    for name, status in children:
        path = prefix + name
        if name.casefold() == ".git" or root / path == never:
            continue
        if not is_unicode(name):
            yield Entry(_readable(path), why_not="its name is not UTF-8", is_gap=True)
            continue
        if stat.S_ISDIR(status.st_mode):
            if not ignores.ignore(f"{path}/") and globs.enter(path):
                yield from _directory(root, f"{path}/", globs, ignores, never)
        elif globs.want(path) and (holds_secrets(path) or not ignores.ignore(path)):
            yield _entry(root, path, status)


def _readable(path: str) -> str:
    """Return the path with a question mark for each byte that is not a character."""
    return path.encode(errors="replace").decode()


def _entry(root: Path, path: str, status: os.stat_result) -> Entry:
    if stat.S_ISLNK(status.st_mode):
        return Entry(path, why_not=f"a symlink to {_target(root, path)}, not followed")
    if not stat.S_ISREG(status.st_mode):
        return Entry(path, why_not="not a regular file")
    if holds_secrets(path):
        return Entry(path, status.st_size, why_not="files of this name contain secrets")
    return Entry(path, status.st_size)


def _target(root: Path, path: str) -> str:
    try:
        real = os.path.realpath(root / path)  # also raises if a link disappears meanwhile
        if not real.startswith(f"{root}{os.sep}"):
            return "a place outside the project"
        return _readable(os.readlink(root / path))
    except OSError:
        return "another place by now"
