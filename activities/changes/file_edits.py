"""Compute what a change makes of its file, in memory; nothing is written here."""

import stat
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from coterie.activities.changes.change import Change, ChangeType
from coterie.activities.changes.diff import Diff, parse_diff, parse_new_file
from coterie.activities.changes.diff_header import DiffProblem
from coterie.activities.changes.hunk_application import Patched, patch
from coterie.activities.workspace.function_base import Workspace
from coterie.activities.workspace.function_failures import FunctionFailure
from coterie.activities.workspace.project_files import read_file, status_of


@dataclass(frozen=True, slots=True)
class Edit:
    """One file before and after a change; None where there is no file."""

    file_path: str
    """As written in the change."""
    path: Path
    """The resolved path."""
    type: ChangeType
    before: bytes | None
    after: bytes | None
    executable: bool | None = None
    """Set or clear the executable bits; None leaves them."""
    added: int = 0
    """Lines added."""
    removed: int = 0
    hunks_applied: int = 0
    """Hunks of the diff that changed the file."""
    hunks_present: int = 0
    """Hunks whose result was already in the file."""

    @property
    def changes(self) -> bool:
        """Whether the edit changes anything."""
        if self.before != self.after:
            return True
        if self.after is None or self.executable is None:
            return False
        return self.executable != bool(self.path.stat().st_mode & stat.S_IXUSR)


def plan_edits(workspace: Workspace, changes: list[Change]) -> list[Edit]:
    """Compute the edit of every change.

    Raises:
        FunctionRefusal: A change names a file that tool functions may not touch.
        FunctionFailure: Some changes do not fit their files; the message lists all of them.
    """
    paths = [workspace.changeable(change.file_path) for change in changes]
    edits: list[Edit] = []
    problems: list[str] = []
    named: dict[Path, str] = {}
    for change, path in zip(changes, paths, strict=True):
        if path in named:
            problems.append(f"{change.file_path}: {named[path]} already changes the same file")
            continue
        named[path] = change.file_path
        try:
            edits.append(_edit(change, path, workspace.root))
        except DiffProblem as problem:
            problems.append(f"{change.file_path}: {problem}")
    if problems:
        raise FunctionFailure(f"nothing was changed: {'; '.join(problems)}")
    return edits


def _edit(change: Change, path: Path, root: Path) -> Edit:
    before = _read(root, path)
    match change.type:
        case "create":
            return _create(change, path, before)
        case "modify":
            return _modify(change, path, before)
        case "delete":
            return _delete(change, path, before)


def _create(change: Change, path: Path, before: bytes | None) -> Edit:
    executable = None
    if change.diff is not None:
        content, executable = parse_new_file(change.diff, change.file_path)
    else:
        content = change.content or ""
    after = content.encode()
    if before is not None and before != after:
        raise DiffProblem("the file to create exists with different content; modify it instead")
    return Edit(
        change.file_path,
        path,
        "create",
        before,
        after,
        executable,
        added=0 if before is not None else len(content.splitlines()),
    )


def _modify(change: Change, path: Path, before: bytes | None) -> Edit:
    if before is None:
        raise DiffProblem("the file to modify does not exist; create it instead")
    if change.diff is None:
        after = (change.content or "").encode()
        added, removed = _difference(before, after)
        return Edit(change.file_path, path, "modify", before, after, None, added, removed)
    diff = parse_diff(change.diff, change.file_path)
    if diff.header.creates or diff.header.deletes:
        what = "creates" if diff.header.creates else "deletes"
        raise DiffProblem(f"the type is modify, but the diff's header {what} the file")
    patched = _patch_file(before, diff)
    return Edit(
        change.file_path,
        path,
        "modify",
        before,
        patched.text.encode(),
        diff.header.executable,
        patched.added,
        patched.removed,
        patched.hunks_applied,
        patched.hunks_present,
    )


def _delete(change: Change, path: Path, before: bytes | None) -> Edit:
    if before is not None and change.diff is not None:
        # A deletion must match what the model saw: its lines must be in the file.
        diff = parse_diff(change.diff, change.file_path)
        if any(line.op == "+" for hunk in diff.hunks for line in hunk.lines):
            raise DiffProblem("the type is delete, but the diff adds lines")
        _patch_file(before, diff)
    removed = len(before.splitlines()) if before is not None else 0
    return Edit(change.file_path, path, "delete", before, None, removed=removed)


def _patch_file(before: bytes, diff: Diff) -> Patched:
    try:
        text = before.decode()
    except UnicodeDecodeError:
        raise DiffProblem("the file is not UTF-8 text, so no diff can apply") from None
    return patch(text, diff.hunks)


def _read(root: Path, path: Path) -> bytes | None:
    """Read the file's bytes; None if it does not exist."""
    relative = path.relative_to(root).as_posix()
    status = status_of(root, relative)
    if status is None:
        above = next(parent for parent in path.parents if parent.exists())
        if not above.is_dir():
            raise DiffProblem(f"{above.name} is a file, not a directory")
        return None
    if stat.S_ISDIR(status.st_mode):
        raise DiffProblem("it is a directory")
    if not stat.S_ISREG(status.st_mode):
        raise DiffProblem("it is not a regular file")
    return read_file(root, relative)


def _difference(before: bytes, after: bytes) -> tuple[int, int]:
    """Count the lines that only the new and only the old file has; moved lines do not count."""
    old, new = Counter(before.splitlines()), Counter(after.splitlines())
    return (new - old).total(), (old - new).total()
