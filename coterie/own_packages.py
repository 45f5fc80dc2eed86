"""Ensure that Coterie imports its own packages, whatever packages the project has.

`python -m coterie` and `PYTHONPATH=.` put the project's folder first on the path. A project with a
`workflows` or `config` package of its own would otherwise shadow ours.
"""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

ROOMS = ("activities", "config", "dsl", "workflows")
"""Top-level packages of Coterie, besides `coterie` itself."""


class OwnPackages:
    """Finds the rooms in one folder, and no other packages."""

    def __init__(self, folder: str) -> None:
        self._path = [folder]

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the room of this name, or None for other packages."""
        return PathFinder.find_spec(name, self._path, target) if name in ROOMS else None


def install() -> None:
    """Put the finder before all others, once.

    Raises:
        ImportError: Another package of the same name is already loaded.
    """
    folder = Path(__file__).resolve().parents[1]
    for name in ROOMS:
        loaded = sys.modules.get(name)
        if loaded is not None and not _lies_in(loaded, folder):
            raise ImportError(
                f"another package called {name!r} is loaded ({loaded!r}), and Coterie has one of "
                "the same name; import coterie first, or rename the other package"
            )
    if not any(isinstance(finder, OwnPackages) for finder in sys.meta_path):
        sys.meta_path.insert(0, OwnPackages(str(folder)))


def _lies_in(module: ModuleType, folder: Path) -> bool:
    return any(Path(one).resolve().parent == folder for one in getattr(module, "__path__", ()))
