"""List what Coterie leaves: in the project's `.coterie` folder, as processes, on the server."""

import os
import shutil
import stat
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from coterie.activities.tool_functions.long_calls.job_folder import JobFolder
from coterie.dsl.values import Frozen
from coterie.failures import CommandError
from coterie.server.embedded_server import ASIDE, EmbeddedServer
from coterie.settings import STORED, Settings

_MAX_ENTRIES = 1_000_000
"""Files that are counted below one entry."""

SECRET: Final = "secret: "
KNOWN: Final = (
    ("temporal.db*", "runs of the embedded server: their whole histories"),
    (f"{ASIDE}*", "a database that `coterie server --set-aside` has moved"),
    ("server.*", "the embedded server: its ports and log"),
    (STORED, "large values and conversations of runs"),
    ("runs", "records of the runs that were started here"),
    ("knowledge", "indexes and memories"),
    ("cache", "results of tool functions that are used again"),
    ("backups", "files as they were before runs changed them"),
    ("changes.lock", "whose turn it is to change files"),
    (".*.lock", "whose turn it is to write a file"),
    ("calls", "whose turn it is to run a command"),
    ("jobs", "calls of more than ten minutes, and their results"),
    ("labelled_files", "which files hold what runs have read elsewhere"),
    ("set-aside", "files that a command put where programs would trust them"),
    ("evals", "reports of `coterie eval`, and its trials"),
    ("mcp", f"{SECRET}sign-ins at MCP servers"),
    ("mcp_token", f"{SECRET}the token of `coterie serve --mcp` over HTTP"),
    ("session_keys", f"{SECRET}the keys that seal sessions of the console"),
    ("tokens.json*", "digests of the tokens of programs"),
    ("console_*", "where the console is"),
    ("open.html", f"{SECRET}the link that signs this machine's user in to the console"),
    ("*.log*", "logs"),
    (".gitignore", "keeps this folder out of Git"),
)
"""`(pattern of a name in `.coterie`, what it is)`; the first that fits counts."""

_UNKNOWN = "not written by this version of Coterie"


class StateEntry(Frozen):
    """A file or folder below `.coterie`."""

    name: str
    what: str
    files: int
    bytes: int


class Leftovers(Frozen):
    """What Coterie leaves on this machine."""

    folder: str
    entries: tuple[StateEntry, ...]
    server_pid: int | None
    """The process of the embedded server, which outlives commands."""
    calls: tuple[str, ...]
    """Ids of long calls whose processes are alive."""


def leftovers_of(settings: Settings) -> Leftovers:
    """Look at a project; nothing is changed."""
    server = EmbeddedServer(settings)
    record = server.record() if server.running() else None
    return Leftovers(
        folder=str(settings.state),
        entries=tuple(_entries(settings.state)),
        server_pid=None if record is None else record.pid,
        calls=tuple(JobFolder.busy(settings.state)),
    )


def what_is(name: str) -> str:
    """Say what a name in `.coterie` stands for."""
    return next((what for pattern, what in KNOWN if fnmatchcase(name, pattern)), _UNKNOWN)


def _entries(folder: Path) -> Iterator[StateEntry]:
    try:
        names = sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        files, size = _measure(folder / name)
        yield StateEntry(name=name, what=what_is(name), files=files, bytes=size)


def _measure(path: Path) -> tuple[int, int]:
    """Count files and bytes; links count as what they are, and are not followed."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return 0, 0  # another process has just removed it
    if not stat.S_ISDIR(found.st_mode):
        return 1, found.st_size
    files = size = 0
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                size += os.lstat(os.path.join(folder, name)).st_size
            except FileNotFoundError:
                continue
            files += 1
            if files >= _MAX_ENTRIES:
                return files, size
    return files, size


def delete_state(settings: Settings) -> bool:
    """Stop the embedded server and delete `.coterie`; return False if there is none.

    Raises:
        CommandError: A long call is at work, or the folder is not one of this project.
    """
    folder = settings.state
    if folder.is_symlink():
        raise CommandError(f"{folder} is a link; delete what it leads to yourself")
    if not folder.exists():
        return False
    busy = JobFolder.busy(folder)
    if busy:
        raise CommandError(
            f"{len(busy)} long calls are at work here; let them end, or cancel their runs first"
        )
    EmbeddedServer(settings).stop()
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise CommandError(
            f"could not delete {error.filename or folder}: {error.strerror}; stop the workers of "
            "this project and try again"
        ) from None
    return True
