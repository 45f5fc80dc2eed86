"""Where a worker looks for its programs: never in the project."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path


def path_outside(path: str, root: Path) -> str:
    """Return a PATH without the folders of a project, where commands can put programs.

    Args:
        path: The worker's PATH.
        root: The project; relative folders count as its own.
    """
    places = [place for place in path.split(os.pathsep) if Path(place).is_absolute()]
    roots = (root, root.resolve())
    remaining = (
        place
        for place in places
        if not any(
            form.is_relative_to(project)
            for form in (Path(place), Path(place).resolve())
            for project in roots
        )
    )
    return os.pathsep.join(remaining) or os.defpath


def command_outside(argv: Sequence[str], path: str, root: Path) -> tuple[str, ...] | None:
    """Return a command with the file of its program outside a project; None if there is none.

    Args:
        argv: The command; a program with a slash in its name stays as it is.
        path: A PATH.
        root: The project.
    """
    if "/" in argv[0]:
        return tuple(argv)
    program = shutil.which(argv[0], path=path_outside(path, root))
    return None if program is None else (program, *argv[1:])


def fixed_command(argv: Sequence[str], path: str) -> tuple[str, ...]:
    """Return a command with the file that its program is now, so that no later one replaces it.

    For programs that a worker's configuration names, which may lie in the project: no command may
    change those files, but it may put others before them on PATH.

    Args:
        argv: The command; a program that is not there stays as it is.
        path: A PATH.
    """
    program = None if not argv or "/" in argv[0] else shutil.which(argv[0], path=path)
    return tuple(argv) if program is None else (str(Path(program).absolute()), *argv[1:])
