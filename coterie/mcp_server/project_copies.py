"""Run a team test that an MCP client wrote: in a copy of the project, in a process of its own.

The process has no secret of this one, a time, and the copy as its only project.
"""

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from pydantic import JsonValue

from coterie.activities.processes.process_group import NotStarted
from coterie.activities.processes.short_program import ProgramTimeout, run_program
from coterie.dsl.visible import shortened_text, visible
from coterie.failures import CommandError
from coterie.settings import Settings
from coterie.testing.simulation.stage import LEFT_BEHIND

TEST_SECONDS = 50
"""For a test file: calls of MCP clients end after a minute."""
_MAX_FILES = 5_000
_MAX_BYTES = 50_000_000
_MAX_OUTPUT = 2_000_000
_MAX_WHY = 2_000
_KEPT = ("PATH", "LANG", "TMPDIR", "VIRTUAL_ENV")
_BOUNDED = (
    "import os, resource, sys\n"
    "os.nice(5)\n"
    f"resource.setrlimit(resource.RLIMIT_CPU, ({TEST_SECONDS}, {TEST_SECONDS}))\n"
    f"resource.setrlimit(resource.RLIMIT_FSIZE, ({_MAX_BYTES}, {_MAX_BYTES}))\n"
    "from coterie.cli import main\n"
    "sys.exit(main(sys.argv[1:]))\n"
)


async def run_test_in_copy(settings: Settings, texts: Mapping[str, str], target: str) -> JsonValue:
    """Run the cases of a test file, and return their results as `coterie test --json` does.

    Args:
        settings: The project, which is copied.
        texts: `{path in the project: its text}`, written over the copy.
        target: The path of the test file in the project.

    Raises:
        CommandError: The project is too large to copy, or the test could not run.
    """
    with TemporaryDirectory(prefix="coterie-authored-") as temporary:
        folder = Path(temporary) / "project"
        await asyncio.to_thread(copy_project, settings.project, folder)
        for name, text in texts.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return await _run(folder, settings.environment, target)


def copy_project(project: Path, folder: Path) -> None:
    """Copy the files of a project, without links, histories and environments; blocking.

    Raises:
        CommandError: It has too many, or one cannot be read.
    """
    count = size = 0
    for place, folders, names in os.walk(project):
        folders[:] = [
            name
            for name in folders
            if name not in LEFT_BEHIND and not _is_hidden(Path(place, name))
        ]
        for path in (Path(place, name) for name in names):
            if _is_hidden(path) or not path.is_file():
                continue
            count, size = count + 1, size + path.stat().st_size
            if count > _MAX_FILES or size > _MAX_BYTES:
                raise CommandError(
                    f"the project has more than {_MAX_FILES:,} files or {_MAX_BYTES:,} bytes, and "
                    "a test of a text works on a copy; run `coterie test` instead"
                )
            target = folder / path.relative_to(project)
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
            except OSError as error:
                name = path.relative_to(project)
                raise CommandError(f"could not copy {name} for a test: {error.strerror}") from None


def _is_hidden(path: Path) -> bool:
    """Return whether a test shall not see a path: what links lead to, and files such as `.env`."""
    return path.name.startswith(".") or path.is_symlink()


async def _run(folder: Path, environment: Mapping[str, str], target: str) -> JsonValue:
    kept = {name: environment[name] for name in _KEPT if name in environment}
    path = os.pathsep.join(part for part in sys.path if part)
    arguments = ("test", "--json", "--limit", "20s", target)
    try:
        end = await run_program(
            (sys.executable, "-P", "-c", _BOUNDED, *arguments),
            cwd=folder,
            environment={**kept, "HOME": str(folder), "PYTHONPATH": path},
            seconds=TEST_SECONDS,
            maximum=_MAX_OUTPUT,
        )
    except ProgramTimeout:
        raise CommandError(
            f"the test did not end within {TEST_SECONDS} s; test fewer cases at once"
        ) from None
    except NotStarted as error:
        raise CommandError(f"the test could not start: {error}") from None
    try:
        return cast("JsonValue", json.loads(end.output))
    except ValueError:
        why = end.errors.replace(f"{folder}{os.sep}", "").strip() or f"exit code {end.exit_code}"
        raise CommandError(
            f"the test did not run: {visible(shortened_text(why, _MAX_WHY))}"
        ) from None
