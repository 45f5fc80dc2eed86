"""Create a project: a team, its test and a `coterie.yml`, copied from templates."""

import builtins
import keyword
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from shlex import quote

from coterie.activities.os_errors import reason_of
from coterie.documents.catalog import shipped_root
from coterie.dsl.errors import listed
from coterie.failures import CommandError

TEAM = "notes"
"""Name of the team in a new project without a tool."""

_PLACEHOLDER = "NAME"
_TEMPLATE = ".tmpl"
"""Ends the name of a template that would otherwise be a module of ours."""


def create_project(folder: Path) -> list[Path]:
    """Write the files of a new project; none if one of them exists.

    Args:
        folder: Created if missing; other files in it stay.

    Raises:
        CommandError: A file already exists, or cannot be written.
    """
    template = shipped_root() / "project"
    return _write_files(folder, {name: (template / name).read_bytes() for name in project_files()})


def project_files() -> list[Path]:
    """Return the names of the files that `create_project` writes."""
    return _names(shipped_root() / "project")


def create_tool_project(folder: Path, tool: str) -> list[Path]:
    """Write a tool in Python, a team that uses it, its test and a `coterie.yml`.

    Args:
        folder: Created if missing; other files in it stay.
        tool: Name of the tool, of its function and of the team.

    Raises:
        CommandError: The name cannot be that of a function, a file already exists, or cannot be
            written.
    """
    if re.fullmatch(r"[a-z][a-z0-9_]{0,40}", tool) is None:
        raise CommandError(
            f"{tool!r} cannot name a tool; use lower-case letters, digits and underscores, such as "
            "word_count"
        )
    if keyword.iskeyword(tool) or hasattr(builtins, tool) or tool == "tool":
        raise CommandError(f"{tool!r} already means something in Python; use another name")
    template = shipped_root() / "tool_project"
    return _write_files(
        folder,
        {
            Path(str(name).replace(_PLACEHOLDER, tool).removesuffix(_TEMPLATE)): (template / name)
            .read_bytes()
            .replace(_PLACEHOLDER.encode(), tool.encode())
            for name in _names(template)
        },
    )


def _names(template: Path) -> list[Path]:
    files = (file for file in template.rglob("*") if file.suffix in (".yml", _TEMPLATE))
    return sorted(file.relative_to(template) for file in files)


def _write_files(folder: Path, files: Mapping[Path, bytes]) -> list[Path]:
    existing = [str(name) for name in files if (folder / name).exists()]
    if existing:
        raise CommandError(
            f"{folder} already has {listed(existing)}; name another folder: "
            f"coterie init {quote(f'{folder}-2')}"
        )
    try:
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    except OSError as error:
        for name in files:  # half a project would block the next attempt
            with suppress(OSError):
                (folder / name).unlink(missing_ok=True)
        raise CommandError(f"could not write to {folder}: {reason_of(error)}") from None
    return list(files)
