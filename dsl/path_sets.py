"""Sets of paths that answer which of them overlap another path: one contains the other.

Each answer takes as long as the path is deep, however many paths the set has.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from coterie.dsl.paths import Path


@dataclass(slots=True)
class PathSet:
    """Paths, and whether another one overlaps any of them."""

    _paths: set[Path] = field(default_factory=set[Path])
    _above: set[Path] = field(default_factory=set[Path])
    """What contains one of the paths, the paths themselves included."""

    def add(self, path: Path) -> None:
        """Add one path."""
        if path not in self._paths:
            self._paths.add(path)
            self._above.update(_prefixes(path))

    def update(self, paths: Iterable[Path]) -> None:
        """Add several paths."""
        for path in paths:
            self.add(path)

    def overlaps(self, path: Path) -> bool:
        """Return whether the path contains one of the set, or one of the set contains it."""
        return path in self._above or any(above in self._paths for above in _prefixes(path))


@dataclass(slots=True)
class PathIndex:
    """Paths in the order in which they came, and those of them that overlap another one."""

    _below: dict[Path, dict[Path, None]] = field(default_factory=dict[Path, dict[Path, None]])
    """`{path: the paths of the index that it contains}`."""

    def add(self, path: Path) -> None:
        """Add one path."""
        for above in _prefixes(path):
            self._below.setdefault(above, {})[path] = None

    def overlapping(self, path: Path) -> Iterator[Path]:
        """Yield the paths of the index that overlap this one: the shorter first."""
        for above in _prefixes(path):
            if above != path and above in self._below.get(above, ()):
                yield above
        yield from self._below.get(path, ())


def _prefixes(path: Path) -> Iterator[Path]:
    """Yield the path and what contains it, the shortest first."""
    return (path[:length] for length in range(len(path) + 1))
