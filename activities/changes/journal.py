"""Keep the journal of a set of changes while it is written, and afterwards.

`backups/<name>/` in the state directory holds `journal.json`, the originals under `old/` and, while
the set is being written, the new files under `new/`. `change_writer.py` acts on it.
"""

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout
from pydantic import ValidationError

from coterie.activities.changes.change import ChangeType
from coterie.activities.changes.file_edits import Edit
from coterie.activities.workspace.function_base import Workspace
from coterie.activities.workspace.function_failures import FunctionFailure
from coterie.activities.workspace.project_files import private_folder, private_opener, write_private
from coterie.dsl.values import Documented, Frozen

LOCK_WAIT = 30.0
"""Seconds to wait while another call changes files of the project."""

MAX_BACKUPS = 1_000_000
"""Directories with the same name: one set of changes by one call."""


class AppliedChange(Documented):
    """The result of one change."""

    file_path: str
    """Relative to the workspace."""
    type: ChangeType
    """What the change requested."""
    status: Literal["applied", "already_applied"]
    """`already_applied` if the file already had the requested content."""
    added: int
    """Number of lines."""
    removed: int
    """Number of lines."""
    hunks_applied: int = 0
    """Hunks of the diff that changed the file."""
    hunks_already_present: int = 0
    """Hunks of the diff whose result was already in the file."""


class JournalFile(Frozen):
    """One file of a set: digests of its content before and after; None where there is no file."""

    path: str
    """The resolved path, relative to the root."""
    before: str | None
    after: str | None
    mode_before: int | None = None
    """Permission bits; None if there is no file."""
    executable: bool | None = None
    """Set or clear the executable bits; None leaves them."""


class Journal(Frozen):
    """A set of changes that is being written, or was written."""

    version: Literal[1] = 1
    digest: str
    """Digest of the set of changes."""
    key: str
    """Key of the call."""
    state: Literal["writing", "done"]
    files: tuple[JournalFile, ...]
    made: tuple[str, ...]
    """Directories that the set created, outermost first."""
    report: tuple[AppliedChange, ...]


@dataclass(frozen=True, slots=True)
class Backup:
    """A journal and its directory."""

    directory: Path
    journal: Journal

    def old(self, file: JournalFile) -> Path:
        """Return the path of the saved original."""
        return self.directory / "old" / file.path

    def new(self, file: JournalFile) -> Path:
        """Return the path of the new file, which exists until the set is written."""
        return self.directory / "new" / file.path

    def save(self) -> None:
        """Write the journal to disk atomically."""
        draft = self.directory / "journal.new"
        write_bytes(draft, self.journal.model_dump_json(indent=1).encode())
        os.replace(draft, self.directory / "journal.json")
        sync(self.directory)


@contextmanager
def locked(workspace: Workspace) -> Generator[None]:
    """Lock the project's files against changes by other calls, in any process.

    Raises:
        FunctionFailure: Another call holds the lock for too long.
    """
    private_folder(workspace.state_dir)
    ignore = workspace.state_dir / ".gitignore"
    if not ignore.exists():
        write_private(ignore, "*\n")
    try:
        with FileLock(workspace.state_dir / "changes.lock", timeout=LOCK_WAIT, mode=0o600):
            yield
    except Timeout:
        raise FunctionFailure(
            f"another call has been changing files of the project for {LOCK_WAIT:g} s",
            may_pass=True,
        ) from None


def backups(workspace: Workspace) -> list[Backup]:
    """Return every set that was ever started; callers must hold the lock.

    Remove directories without a journal, left by calls that died before they touched the project.
    Leave plain files, which are not ours.

    Raises:
        FunctionFailure: A journal is damaged.
    """
    home = workspace.state_dir / "backups"
    result: list[Backup] = []
    for directory in sorted(home.iterdir()) if home.is_dir() else ():
        if not directory.is_dir():
            continue
        try:
            text = (directory / "journal.json").read_bytes()
        except FileNotFoundError:
            shutil.rmtree(directory, ignore_errors=True)
        else:
            result.append(Backup(directory, _read(text, directory)))
    return result


def _read(text: bytes, directory: Path) -> Journal:
    try:
        return Journal.model_validate_json(text)
    except ValidationError:
        raise FunctionFailure(
            f"{directory / 'journal.json'} is damaged, so an interrupted set of changes cannot be "
            f"finished or undone; compare the project with the originals in {directory / 'old'}, "
            f"then delete {directory}"
        ) from None


def begin(
    workspace: Workspace,
    edits: list[Edit],
    report: tuple[AppliedChange, ...],
    digest: str,
    key: str,
) -> Backup:
    """Save the originals and the new files, then the journal; do not touch the project yet."""
    journal = Journal(
        digest=digest,
        key=key,
        state="writing",
        files=tuple(_journal_file(workspace, edit) for edit in edits),
        made=_missing_directories(workspace, edits),
        report=report,
    )
    backup = Backup(_free_directory(workspace, digest, key), journal)
    try:
        for edit, file in zip(edits, journal.files, strict=True):
            for copy, content in ((backup.old(file), edit.before), (backup.new(file), edit.after)):
                if content is not None:
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    write_bytes(copy, content)
        backup.save()
    except OSError:
        shutil.rmtree(backup.directory, ignore_errors=True)
        raise
    return backup


def content_digest(content: bytes) -> str:
    """Return the SHA-256 digest in hexadecimal."""
    return sha256(content).hexdigest()


def write_bytes(path: Path, content: bytes) -> None:
    """Write one of the worker's own files and sync it to disk."""
    with open(path, "wb", opener=private_opener) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync(directory: Path) -> None:
    """Sync the directory's entries to disk."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _journal_file(workspace: Workspace, edit: Edit) -> JournalFile:
    return JournalFile(
        path=edit.path.relative_to(workspace.root).as_posix(),
        before=None if edit.before is None else content_digest(edit.before),
        after=None if edit.after is None else content_digest(edit.after),
        mode_before=None if edit.before is None else edit.path.stat().st_mode & 0o7777,
        executable=edit.executable,
    )


def _missing_directories(workspace: Workspace, edits: list[Edit]) -> tuple[str, ...]:
    missing = {
        parent.relative_to(workspace.root).as_posix()
        for edit in edits
        if edit.after is not None
        for parent in edit.path.parents
        if not parent.exists()
    }
    return tuple(sorted(missing))


def _free_directory(workspace: Workspace, digest: str, key: str) -> Path:
    """Create a directory named after the set and the call, never an existing one."""
    home = workspace.state_dir / "backups"
    name = f"{digest[:12]}-{content_digest(key.encode())[:8]}"
    for number in range(1, MAX_BACKUPS + 1):
        directory = home / (name if number == 1 else f"{name}.{number}")
        try:
            directory.mkdir(parents=True)
        except FileExistsError:
            continue
        return directory
    raise FileExistsError(f"{home} has no free name for a backup {name}")
