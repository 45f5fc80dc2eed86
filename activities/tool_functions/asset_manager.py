"""`AssetManager`: apply changes to the project's files.

`apply_changes` takes a set, all or none; `process_action` takes one, for loops over changes.
Applying the same changes again has no effect, so a lost attempt may be repeated.
"""

import json
import logging
from collections.abc import Callable

from pydantic import JsonValue, TypeAdapter

from coterie.activities.changes.change import Change
from coterie.activities.changes.change_writer import finish, stands, undo, write
from coterie.activities.changes.file_edits import Edit, plan_edits
from coterie.activities.changes.journal import (
    AppliedChange,
    Backup,
    backups,
    content_digest,
    locked,
)
from coterie.activities.contracts import FailureType
from coterie.activities.threads.run_threads import FUNCTION_THREADS
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction, Workspace
from coterie.dsl.values import Documented

logger = logging.getLogger(__name__)


class ChangeSet(Documented):
    """Changes that belong together."""

    changes: list[Change]
    """The changes, in order."""


class ChangeSetResult(Documented):
    """The results of a set of changes."""

    applied: list[AppliedChange]
    """One entry for each change, in order."""
    backup: str | None
    """Folder of the original files, relative to the workspace; null if no file changed."""
    digest: str
    """Hash of the set of changes."""


class ProcessedChange(AppliedChange):
    """The result of a single change."""

    backup: str | None
    """Folder of the original file, relative to the workspace; null if it did not change."""
    digest: str
    """Hash of the change."""


async def apply_changes(
    value: list[Change] | ChangeSet, context: FunctionContext
) -> ChangeSetResult:
    """Apply all changes of a set, or none.

    Raises:
        FunctionRefusal: A change names a file that tool functions may not touch.
        FunctionFailure: Some changes do not fit their files; the message lists all of them.
    """
    changes = value if isinstance(value, list) else value.changes
    # A thread runs to its end, so a cancelled call leaves nothing half-written.
    return await FUNCTION_THREADS.finish(apply_set, context.workspace, changes, context.key)


async def process_action(value: Change, context: FunctionContext) -> ProcessedChange:
    """Apply one change.

    Raises:
        FunctionRefusal: It names a file that tool functions may not touch.
        FunctionFailure: It does not fit its file.
    """
    result = await FUNCTION_THREADS.finish(apply_set, context.workspace, [value], context.key)
    fields = result.applied[0].model_dump()
    return ProcessedChange(**fields, backup=result.backup, digest=result.digest)


def apply_set(
    workspace: Workspace,
    changes: list[Change],
    key: str,
    allow: Callable[[list[Edit]], None] | None = None,
) -> ChangeSetResult:
    """Apply all changes of a set, or none; blocking.

    Args:
        workspace: The project.
        changes: The set.
        key: Identifies the call.
        allow: Raises if the edits may not be written; nobody else changes the files meanwhile.
    """

    def plan(_repeated: bool) -> list[Edit]:
        edits = plan_edits(workspace, changes)
        if allow is not None:
            allow(edits)
        return edits

    return apply_planned(workspace, _set_digest(changes), key, plan)


def apply_planned(
    workspace: Workspace, digest: str, key: str, plan: Callable[[bool], list[Edit]]
) -> ChangeSetResult:
    """Write all edits of a plan, or none; blocking.

    Complete an interrupted set if it is the same one, and undo any other.

    Args:
        workspace: The project.
        digest: Identifies what shall change.
        key: Identifies the call.
        plan: Returns the edits, given whether an earlier attempt of this call wrote them; nobody
            else changes the files meanwhile.
    """
    repeated = False
    with locked(workspace):
        for backup in backups(workspace):
            journal = backup.journal
            if journal.state == "writing" and journal.digest == digest:
                return _result(workspace, finish(workspace, backup))
            if journal.state == "writing":
                logger.warning("undoing the interrupted set of changes of %s", journal.key)
                undo(workspace, backup)
            elif journal.digest == digest and stands(workspace, journal):
                return _result(workspace, backup, already=True)
            elif (journal.digest, journal.key) == (digest, key):
                repeated = True
        edits = plan(repeated)
        report = tuple(_report(edit) for edit in edits)
        work = [edit for edit in edits if edit.changes]
        if not work:
            return ChangeSetResult(applied=list(report), backup=None, digest=digest)
        return _result(workspace, write(workspace, work, report, digest, key))


def _result(workspace: Workspace, backup: Backup, already: bool = False) -> ChangeSetResult:
    report = [
        change.model_copy(update=_nothing_new(change)) if already else change
        for change in backup.journal.report
    ]
    place = backup.directory
    inside = place.is_relative_to(workspace.root)
    return ChangeSetResult(
        applied=report,
        backup=place.relative_to(workspace.root).as_posix() if inside else place.name,
        digest=backup.journal.digest,
    )


def _nothing_new(change: AppliedChange) -> dict[str, JsonValue]:
    """Return the fields that differ for a change that an earlier call applied."""
    hunks = change.hunks_applied + change.hunks_already_present
    return {
        "status": "already_applied",
        "added": 0,
        "removed": 0,
        "hunks_applied": 0,
        "hunks_already_present": hunks,
    }


def _report(edit: Edit) -> AppliedChange:
    return AppliedChange(
        file_path=edit.file_path,
        type=edit.type,
        status="applied" if edit.changes else "already_applied",
        added=edit.added,
        removed=edit.removed,
        hunks_applied=edit.hunks_applied,
        hunks_already_present=edit.hunks_present,
    )


def _set_digest(changes: list[Change]) -> str:
    values = [change.model_dump(mode="json") for change in changes]
    return content_digest(json.dumps(values, sort_keys=True, ensure_ascii=True).encode())


_ERRORS = {
    FailureType.FUNCTION_REFUSED: (
        "a change names a file outside the workspace, or a protected file"
    ),
    FailureType.FUNCTION_FAILED: "a change does not fit its file, or a file cannot be written; the "
    "message explains the problem, and whether the original files were restored",
}

APPLY_CHANGES = ToolFunction[list[Change] | ChangeSet, ChangeSetResult](
    name="AssetManager.apply_changes",
    description="Applies a set of changes to the project's files: all of them, or none.",
    effect="idempotent",
    input=TypeAdapter(list[Change] | ChangeSet),
    output=TypeAdapter(ChangeSetResult),
    run=apply_changes,
    timeout=120.0,
    errors=_ERRORS,
)

PROCESS_ACTION = ToolFunction[Change, ProcessedChange](
    name="AssetManager.process_action",
    description="Applies one change to a file of the project.",
    effect="idempotent",
    input=TypeAdapter(Change),
    output=TypeAdapter(ProcessedChange),
    run=process_action,
    timeout=120.0,
    errors=_ERRORS,
)
