"""Match the globs of `include`: `*`, `?` and `[...]` within a name, `**` for any folders."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

MAX_SEARCHED = 20_000
"""Files and folders that one glob may look at."""


class TooManyEntries(Exception):
    """A glob looks at more files than it may."""

    def __init__(self, maximum: int) -> None:
        self.maximum = maximum
        super().__init__(f"more than {maximum} entries")


def is_glob(text: str) -> bool:
    """Return whether an entry is a glob."""
    return any(character in text for character in "*?[")


def matching_files(folder: Path, glob: str, maximum: int = MAX_SEARCHED) -> list[Path]:
    """List the files that match, sorted; hidden ones only where the glob writes their dot.

    Raises:
        TooManyEntries: The glob looks at more than `maximum` files and folders.
    """
    search = _Search(maximum)
    found = search.below(folder, [part for part in glob.split("/") if part not in ("", ".")])
    return sorted(set(found))


@dataclass(slots=True)
class _Search:
    maximum: int
    searched: int = 0

    def below(self, folder: Path, segments: Sequence[str]) -> Iterator[Path]:
        """Yield the files below a folder that match the segments."""
        head, *rest = segments
        if head == "**":
            yield from self.below(folder, rest or ["*"])
        for entry in self._entries(folder):
            path = folder / entry.name
            if head == "**":
                if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                    yield from self.below(path, segments)
            elif not _matches(entry.name, head):
                continue
            elif rest and entry.is_dir():
                yield from self.below(path, rest)
            elif not rest and entry.is_file():
                yield path

    def _entries(self, folder: Path) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                found = list(entries)
        except OSError:
            return []
        self.searched += len(found)
        if self.searched > self.maximum:
            raise TooManyEntries(self.maximum)
        return found


def _matches(name: str, pattern: str) -> bool:
    if name.startswith(".") and not pattern.startswith("."):
        return False
    return fnmatchcase(name, pattern)
