"""Read the facts of this machine that `coterie doctor` judges."""

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

_REQUIREMENT = re.compile(
    r"""(?P<package>[\w.-]+)(?:\[(?P<extras>[^]]*)])?.*\bextra == ['"](?P<extra>[\w-]+)['"]"""
)
"""A line of a package's metadata: what it requires, and the extra that requires it."""


def missing_packages(extras: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return `{extra of Coterie: its packages that are not installed}`, if it lacks any."""
    missing = {extra: tuple(dict.fromkeys(_missing("coterie", extra))) for extra in extras}
    return {extra: packages for extra, packages in missing.items() if packages}


def _missing(package: str, extra: str) -> Iterator[str]:
    """Yield what an extra of an installed package lacks, including the extras of what it needs."""
    try:
        lines = requires(package) or []
    except PackageNotFoundError:  # Coterie itself may run from a folder, without being installed
        return
    for found in filter(None, map(_REQUIREMENT.match, lines)):
        if found["extra"] != extra:
            continue
        if not _is_installed(found["package"]):
            yield found["package"]
            continue
        for further in filter(None, (found["extras"] or "").split(",")):
            yield from _missing(found["package"], further.strip())


def _is_installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def write_problem(folder: Path) -> str | None:
    """Return why this user cannot write into a folder, which need not exist; None if possible."""
    existing = _existing(folder)
    if not existing.is_dir():
        return f"{existing} is not a folder"
    return None if os.access(existing, os.W_OK | os.X_OK) else f"{existing} cannot be written"


def free_space(folder: Path) -> int | None:
    """Return the free bytes of a folder's disk, or None if the system does not say."""
    try:
        return shutil.disk_usage(_existing(folder)).free
    except OSError:
        return None


def _existing(folder: Path) -> Path:
    return next((part for part in (folder, *folder.parents) if part.exists()), folder)
