"""`Files.write`: create or replace one file of the project with a given content.

The call is idempotent by content: a file that already has the content stays as it is. Originals are
backed up, and interrupted writes completed, as for `AssetManager.apply_changes`.
"""

import stat
from hashlib import sha256
from typing import Literal

from pydantic import Field, TypeAdapter

from coterie.activities.changes.change import Change
from coterie.activities.changes.file_edits import Edit
from coterie.activities.contracts import FailureType
from coterie.activities.threads.run_threads import FUNCTION_THREADS
from coterie.activities.tool_functions.asset_manager import apply_set
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction, Workspace
from coterie.activities.workspace.function_failures import FunctionFailure
from coterie.activities.workspace.project_files import status_of
from coterie.dsl.schema_keys import KIND
from coterie.dsl.values import Documented


class FileWriteInput(Documented):
    """The file, and what it shall contain."""

    path: str = Field(min_length=1, max_length=4096, json_schema_extra={KIND: "path"})
    """Relative to the workspace. Missing folders are created."""
    content: str = Field(max_length=1_000_000)
    """The whole new content."""
    if_sha256: str | None = Field(default=None, pattern=r"^([0-9a-f]{64}|absent)$")
    """Write only if the file has this hash now, as `Files.read` returned it; `absent`: only if no
    file exists. Without it, the file is replaced whatever it contains."""


class WrittenFile(Documented):
    """What happened."""

    path: str
    """Relative to the workspace."""
    status: Literal["created", "replaced", "unchanged"]
    """`unchanged` if the file already had the content."""
    bytes: int
    """Size of the file."""
    sha256: str
    """Hash of the content."""
    backup: str | None
    """Folder of the original file, relative to the workspace; null if nothing was written."""


async def write_text(value: FileWriteInput, context: FunctionContext) -> WrittenFile:
    """Write a file.

    Raises:
        FunctionRefusal: The path names a file that tool functions may not touch.
        FunctionFailure: The file changed since it was read, or cannot be written.
    """
    return await FUNCTION_THREADS.finish(_write, value, context.workspace, context.key)


def _write(value: FileWriteInput, workspace: Workspace, key: str) -> WrittenFile:
    exists = _is_file(workspace, value.path)
    change = Change(
        file_path=value.path, type="modify" if exists else "create", content=value.content
    )
    result = apply_set(workspace, [change], key, lambda edits: _compare(value, edits[0]))
    is_applied = result.applied[0].status == "applied"
    content = value.content.encode()
    return WrittenFile(
        path=value.path,
        status="unchanged" if not is_applied else "replaced" if exists else "created",
        bytes=len(content),
        sha256=sha256(content).hexdigest(),
        backup=result.backup if is_applied else None,
    )


def _compare(value: FileWriteInput, edit: Edit) -> None:
    """Refuse to replace a file that is not the one which the caller knows."""
    now = "absent" if edit.before is None else sha256(edit.before).hexdigest()
    if value.if_sha256 in (None, now) or not edit.changes:
        return
    what = "no file exists" if edit.before is None else f"it has the hash {now}"
    raise FunctionFailure(
        f"{value.path!r} is not in the state of if_sha256: {what} now; read it again"
    )


def _is_file(workspace: Workspace, path: str) -> bool:
    relative = workspace.changeable(path).relative_to(workspace.root).as_posix()
    status = status_of(workspace.root, relative)
    if status is not None and not stat.S_ISREG(status.st_mode):
        raise FunctionFailure(f"{path!r} is not a regular file")
    return status is not None


WRITE = ToolFunction[FileWriteInput, WrittenFile](
    name="Files.write",
    description="Creates a file of the project, or replaces its whole content.",
    effect="idempotent",
    input=TypeAdapter(FileWriteInput),
    output=TypeAdapter(WrittenFile),
    run=write_text,
    timeout=60.0,
    errors={
        FailureType.FUNCTION_REFUSED: "the path names a file outside the workspace, or a protected "
        "file",
        FailureType.FUNCTION_FAILED: "the file changed since it was read (`if_sha256`), or cannot "
        "be written",
    },
)
