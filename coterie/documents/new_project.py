"""Create a project: a team, its test and a `coterie.yml`, copied from templates."""

from contextlib import suppress
from pathlib import Path

from activities.os_errors import reason_of
from coterie.documents.catalog import shipped_root
from coterie.failures import CommandError
from dsl.errors import listed

TEAM = "notes"
"""Name of the team in a new project."""


def create_project(folder: Path) -> list[Path]:
    """Write the files of a new project; none if one of them exists.

    Args:
        folder: Created if missing; other files in it stay.

    Raises:
        CommandError: A file already exists, or cannot be written.
    """
    template = shipped_root() / "project"
    names = sorted(file.relative_to(template) for file in template.rglob("*.yml") if file.is_file())
    existing = [str(name) for name in names if (folder / name).exists()]
    if existing:
        raise CommandError(
            f"{folder} already has {listed(existing)}; name another folder: coterie init DIR"
        )
    try:
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((template / name).read_bytes())
    except OSError as error:
        for name in names:  # half a project would block the next attempt
            with suppress(OSError):
                (folder / name).unlink(missing_ok=True)
        raise CommandError(f"could not write to {folder}: {reason_of(error)}") from None
    return names
