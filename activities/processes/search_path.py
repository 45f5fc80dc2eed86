"""Where a worker looks for its programs: never in the project."""

import os
from pathlib import Path


def path_outside(path: str, root: Path) -> str:
    """Return a PATH without the folders of a project, where commands can put programs.

    Args:
        path: The worker's PATH.
        root: The project; relative folders count as its own.
    """
    places = [place for place in path.split(os.pathsep) if Path(place).is_absolute()]
    kept = (
        place
        for place in places
        if not Path(place).is_relative_to(root) and not Path(place).resolve().is_relative_to(root)
    )
    return os.pathsep.join(kept) or os.defpath
