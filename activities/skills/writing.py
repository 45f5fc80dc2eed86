"""Write a begun set of changes to the project: all files of it or none.

Files are replaced one after the other, each at once, and only after the journal is on disk.
Whoever finds a journal that says `writing` can go on with `finish` or go back with `undo`:
each file is by its digest known to be in the old or in the new state. Only for whoever holds
the lock.
"""

import os
import shutil
from contextlib import suppress
from pathlib import Path

from activities.skills.base import SkillFailure, Workspace
from activities.skills.edits import Edit
from activities.skills.journal import (
    AppliedChange,
    Backup,
    Journal,
    begin,
    digest_of,
    sync,
    write_bytes,
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
        SkillFailure: something cannot be written; the originals are back.
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
    """Bring every file of a begun set into its new state.

    Raises:
        SkillFailure: someone else changed a file since.
        OSError: a file cannot be written; its `filename` is relative to the root.
    """
    _refuse_foreign(workspace, backup)
    for file in backup.journal.files:
        target = workspace.root / file.path
        try:
            if file.after is None:
                target.unlink(missing_ok=True)
                sync(target.parent)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                _put(backup.new(file), target, backup, file.mode_before, file.executable)
        except OSError as error:
            raise OSError(error.errno, error.strerror, file.path) from error
    done = Backup(backup.directory, backup.journal.model_copy(update={"state": "done"}))
    done.save()
    shutil.rmtree(backup.directory / "new", ignore_errors=True)
    return done


def undo(workspace: Workspace, backup: Backup) -> None:
    """Bring every file of a begun set back into its old state, and forget the set.

    Raises:
        SkillFailure: someone else changed a file since, or it cannot be written.
    """
    _refuse_foreign(workspace, backup)
    try:
        for file in reversed(backup.journal.files):
            target = workspace.root / file.path
            with suppress(OSError):  # a leftover copy is litter, no reason to stop
                _temporary(target, backup).unlink()
            if file.before is None:
                target.unlink(missing_ok=True)
            elif _state(target) != file.before or file.before == file.after:
                _put(backup.old(file), target, backup, file.mode_before)
    except OSError as error:
        raise SkillFailure(
            f"the originals cannot be put back ({error.strerror}): they are kept in "
            f"{backup.directory.name} under the worker's backups, and the next call with the "
            "same changes goes on from there",
            may_pass=True,
        ) from None
    for directory in reversed(backup.journal.made):
        with suppress(OSError):  # never made, or somebody's files are in it
            (workspace.root / directory).rmdir()
    shutil.rmtree(backup.directory)


def stands(workspace: Workspace, journal: Journal) -> bool:
    """Are all files of the set as it left them?"""
    return all(_state(workspace.root / file.path) == file.after for file in journal.files)


def _not_written(what: str, error: OSError) -> SkillFailure:
    reason = error.strerror or type(error).__name__
    return SkillFailure(
        f"nothing was changed, for {what} cannot be written: {reason}", may_pass=True
    )


def _refuse_foreign(workspace: Workspace, backup: Backup) -> None:
    """Never write over what is neither the old nor the new state."""
    for file in backup.journal.files:
        if _state(workspace.root / file.path) not in (file.before, file.after):
            raise SkillFailure(
                f"an interrupted set of changes cannot be completed or undone, for {file.path} "
                f"was changed since; put it right by the originals in {backup.directory.name} "
                "under the worker's backups, then delete that directory"
            )


def _state(path: Path) -> str | None:
    """The digest of a file; None where there is none."""
    try:
        return digest_of(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None


def _temporary(target: Path, backup: Backup) -> Path:
    return target.parent / f".coterie-{backup.directory.name}.tmp"


def _put(
    source: Path, target: Path, backup: Backup, mode: int | None, executable: bool | None = None
) -> None:
    """Replace the target at once by a copy of the source.

    Args:
        source: The copy in the backup.
        target: The file of the project.
        backup: Names the copy beside the target that takes its place.
        mode: Permission bits; None for those that a new file gets.
        executable: Set or clear the executable bits; None leaves them.
    """
    draft = _temporary(target, backup)
    write_bytes(draft, source.read_bytes())
    bits = draft.stat().st_mode & 0o7777 if mode is None else mode
    match executable:
        case True:
            bits |= (bits & 0o444) >> 2  # whoever may read it may run it
        case False:
            bits &= ~0o111
        case None:
            pass
    os.chmod(draft, bits)
    os.replace(draft, target)
    sync(target.parent)
