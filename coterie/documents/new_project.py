"""A new project: a team, its test and a `coterie.yml`, copied from what comes with Coterie."""

from contextlib import suppress
from pathlib import Path

from activities.os_errors import reason_of
from coterie.documents.catalog import shipped_root
from coterie.failures import CommandError
from dsl.errors import listed

TEAM = "notes"
"""The team of a new project."""


def create_project(folder: Path) -> list[Path]:
    """Write the files of a new project; none when one of them exists.

    Args:
        folder: made when missing; other files in it stay.

    Raises:
        CommandError: a file is there already, or cannot be written.
    """
    template = shipped_root() / "project"
    names = sorted(file.relative_to(template) for file in template.rglob("*.yml") if file.is_file())
    existing = [str(name) for name in names if (folder / name).exists()]
    if existing:
        raise CommandError(
            f"{folder} has {listed(existing)} already; name another folder: coterie init DIR"
        )
    try:
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((template / name).read_bytes())
    except OSError as error:
        for name in names:  # half a project would be in the way of the next try
            with suppress(OSError):
                (folder / name).unlink(missing_ok=True)
        raise CommandError(f"{folder} cannot be written: {reason_of(error)}") from None
    return names
