"""Import the rooms in a checkout, where they stand beside this package and not in it.

A wheel holds `coterie/dsl` and the others like any other folder of the package, and needs none of
this; see docs/decisions/0036-one-import-package.md.
"""

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

ROOMS = ("activities", "config", "dsl", "gateway", "workflows")
"""The folders of `coterie` that stand at the top of a checkout."""

_PACKAGE = os.path.dirname(os.path.realpath(__file__))
_NAMES = frozenset(f"coterie.{room}" for room in ROOMS)


class Rooms:
    """Finds `coterie.dsl` and the other rooms at the top of a checkout, and nothing else."""

    def __init__(self, folder: str) -> None:
        self._path = [folder]

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the room of this name, or None for every other module."""
        return PathFinder.find_spec(name, self._path, target) if name in _NAMES else None


def find_rooms() -> None:
    """Let Python find the rooms, once per process."""
    in_wheel = os.path.isdir(os.path.join(_PACKAGE, ROOMS[0]))
    if not in_wheel and not any(isinstance(finder, Rooms) for finder in sys.meta_path):
        sys.meta_path.insert(0, Rooms(os.path.dirname(_PACKAGE)))
