"""List the paths that no skill may change, because the worker trusts them; and hidden paths.

Configuration, the documents that a run started with, packages that the worker imports, programs
that it runs as itself, and its own environment.
"""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import all_suffixes
from pathlib import Path

import coterie.activities as activities
import coterie.config as config
import coterie.dsl as dsl
import coterie.workflows as workflows
from coterie import version
from coterie.activities.workspace.command_start import CACHE
from coterie.documents.worker_trust import TrustedConfig
from coterie.settings import LISTINGS_FILE, OVERRIDE_FILE, SYSTEM_FILE, Settings

_IN_ROOMS = (activities, config, dsl, workflows, version)
"""One module at the top of each room."""


def protected_paths(trusted: TrustedConfig, settings: Settings) -> tuple[Path, ...]:
    """List files and folders that no skill of this worker may change.

    Omit those outside the workspace, which no skill reaches.
    """
    root = Path(trusted.workspace).resolve()
    found = (
        settings.project / OVERRIDE_FILE,
        settings.project / LISTINGS_FILE,
        settings.state,
        *_config_roots(settings, root),
        *map(Path, trusted.documents),
        *_packages(
            (*trusted.agent_packages, *trusted.provider_packages, *trusted.tool_packages), settings
        ),
        *_programs(trusted, root, settings.environment.get("PATH", os.defpath)),
        Path(sys.prefix),
        *(Path(str(room.__file__)).resolve().parent for room in _IN_ROOMS),
    )
    inside = (path for path in found if _lies_in(path, root) or _lies_in(path.resolve(), root))
    return tuple(dict.fromkeys(inside))


def hidden_paths(settings: Settings) -> tuple[Path, ...]:
    """List what the sandbox hides from commands: the state and the storage of runs."""
    storage = settings.storage
    folder = (Path(storage),) if storage is not None and storage.startswith("/") else ()
    return (settings.state, *folder)


def _lies_in(path: Path, root: Path) -> bool:
    return path != root and path.is_relative_to(root)


def _config_roots(settings: Settings, workspace: Path) -> Iterator[Path]:
    """Yield the roots, and the project's own even before it exists, for the next start."""
    own = () if settings.environment.get("COTERIE_CONFIG") else (settings.project / "config",)
    for root in dict.fromkeys((*settings.config_roots, *own)):
        if workspace.is_relative_to(root):
            yield from (root / SYSTEM_FILE, root / "teams", root / "personas")
        else:
            yield root


def _packages(packages: Iterable[str], settings: Settings) -> Iterator[Path]:
    """Yield where they may be imported from, and what is imported before them."""
    folders = dict.fromkeys((settings.project, *(Path(folder) for folder in sys.path if folder)))
    for package in packages:
        parts = package.split(".")
        for folder in folders:
            yield folder.joinpath(*parts)
            yield from _modules(folder.joinpath(*parts[:-1]), parts[-1])
            for depth in range(1, len(parts)):
                yield from _modules(folder.joinpath(*parts[:depth]), "__init__")


def _modules(folder: Path, name: str) -> Iterator[Path]:
    """Yield the files that Python imports by this name, compiled ones too."""
    yield from (folder / f"{name}{suffix}" for suffix in all_suffixes())
    if (folder / f"{name}.py").is_file():
        yield folder / CACHE


def _programs(trusted: TrustedConfig, workspace: Path, path: str) -> Iterator[Path]:
    """Yield notification commands and MCP servers, which run with secrets, and scripted answers."""
    for words in (
        *(channel.run for channel in trusted.notify.values()),
        *(server.command for server in trusted.mcp_servers.values()),
    ):
        named = [workspace / part for part in words if (workspace / part).is_file()]
        found = shutil.which(words[0], path=path) if words else None
        for file in (*named, *([Path(found)] if found is not None else [])):
            yield file
            folder = file.parent.parent  # a program of a virtual environment imports from it
            if (folder / "pyvenv.cfg").is_file():
                yield folder
    for provider in trusted.providers.values():
        if provider.answers is not None:
            yield Path(provider.answers)
