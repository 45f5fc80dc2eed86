"""Write a set of changes to the project: all its files or none.

Each file is replaced atomically, one after the other, once the journal is on disk. A caller that
finds a journal in state `writing` can complete it with `finish` or revert it with `undo`: the
digests show whether each file is in its old or its new state. Callers must hold the lock.
"""

import errno
import shutil
from contextlib import suppress
from pathlib import PurePosixPath

from coterie.activities.changes.file_edits import Edit
from coterie.activities.changes.journal import AppliedChange, Backup, Journal, begin, content_digest
from coterie.activities.os_errors import reason_of
from coterie.activities.workspace.function_base import Workspace
from coterie.activities.workspace.function_failures import FunctionFailure
from coterie.activities.workspace.project_files import (
    NotRegular,
    read_file,
    remove_directory,
    remove_file,
    replace_file,
)


def write(
    workspace: Workspace,
    edits: list[Edit],
    report: tuple[AppliedChange, ...],
    digest: str,
    key: str,
) -> Backup:
    """Write all edits, or leave everything as it was.

    Raises:
        FunctionFailure: A file could not be written; the originals are restored.
    """
    try:
        backup = begin(workspace, edits, report, digest, key)
    except OSError as error:
        raise _not_written("the backup of the originals", error) from None
    try:
        return finish(workspace, backup)
    except OSError as error:
        undo(workspace, backup)
        raise _not_written(str(error.filename), error) from None


def finish(workspace: Workspace, backup: Backup) -> Backup:
    """Bring every file of an interrupted set into its new state.

    Raises:
        FunctionFailure: A file was changed in the meantime.
        OSError: A file cannot be written; its `filename` is relative to the root.
    """
    _refuse_foreign(workspace, backup)
    for file in backup.journal.files:
        try:
            if file.after is None:
                remove_file(workspace.root, file.path)
            else:
                replace_file(
                    workspace.root,
                    file.path,
                    backup.new(file).read_bytes(),
                    _draft(backup),
                    mode=file.mode_before,
                    executable=file.executable,
                )
        except OSError as error:
            raise OSError(error.errno, error.strerror, file.path) from error
    finished_backup = Backup(backup.directory, backup.journal.model_copy(update={"state": "done"}))
    finished_backup.save()
    shutil.rmtree(backup.directory / "new", ignore_errors=True)
    return finished_backup


def undo(workspace: Workspace, backup: Backup) -> None:
    """Bring every file of an interrupted set back into its old state, and delete the set.

    Raises:
        FunctionFailure: A file was changed in the meantime, or cannot be written.
    """
    _refuse_foreign(workspace, backup)
    try:
        for file in reversed(backup.journal.files):
            with suppress(OSError):  # a leftover copy is harmless
                remove_file(workspace.root, str(PurePosixPath(file.path).with_name(_draft(backup))))
            if file.before is None:
                remove_file(workspace.root, file.path)
            elif _state(workspace, file.path) != file.before or file.before == file.after:
                replace_file(
                    workspace.root,
                    file.path,
                    backup.old(file).read_bytes(),
                    _draft(backup),
                    mode=file.mode_before,
                )
    except OSError as error:
        raise FunctionFailure(
            f"the originals could not be restored, {reason_of(error)}: they are in "
            f"{backup.directory.name} under the worker's backups, and the next call with the "
            "same changes continues from there",
            may_pass=True,
        ) from None
    for directory in reversed(backup.journal.made):
        with suppress(OSError):  # never created, or it contains other files
            remove_directory(workspace.root, directory)
    shutil.rmtree(backup.directory)


def stands(workspace: Workspace, journal: Journal) -> bool:
    """Return whether all files of the set are as it left them."""
    return all(_state(workspace, file.path) == file.after for file in journal.files)


def _not_written(what: str, error: OSError) -> FunctionFailure:
    return FunctionFailure(
        f"nothing was changed: {what} cannot be written: {reason_of(error)}", may_pass=True
    )


def _refuse_foreign(workspace: Workspace, backup: Backup) -> None:
    """Refuse to overwrite a file that is in neither the old nor the new state."""
    for file in backup.journal.files:
        if _state(workspace, file.path) not in (file.before, file.after):
            raise FunctionFailure(
                f"an interrupted set of changes cannot be completed or undone: {file.path} was "
                f"changed since. Restore it from the originals in {backup.directory.name} under "
                "the worker's backups, then delete that directory"
            )


def _state(workspace: Workspace, path: str) -> str | None:
    """Return the digest of a file; None if there is none, a dash if it is not a regular file."""
    try:
        return content_digest(read_file(workspace.root, path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if isinstance(error, NotRegular) or error.errno == errno.ELOOP:
            return "-"
        raise


def _draft(backup: Backup) -> str:
    """Return the name of the temporary copy that replaces a file."""
    return f".coterie-{backup.directory.name}.tmp"
