"""`Files.edit`: replace one text of a file of the project, which must occur exactly once in it.

An attempt that repeats a call edits nothing twice: the journal of `AssetManager` knows the call.
Originals are backed up, and interrupted writes completed, as for `Files.write`.
"""

import json
from hashlib import sha256

from pydantic import TypeAdapter

from coterie.activities.changes.change import Change
from coterie.activities.changes.file_edits import Edit, plan_edits
from coterie.activities.changes.text_edit import (
    MAX_EDITED_BYTES,
    NotUnique,
    TextEdit,
    edited,
    is_present,
)
from coterie.activities.contracts import FailureType
from coterie.activities.threads.run_threads import FUNCTION_THREADS
from coterie.activities.tool_functions.asset_manager import apply_planned
from coterie.activities.tool_functions.files.file_writing import WrittenFile
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction, Workspace
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal
from coterie.activities.workspace.text_files import decoded, readable_file


async def edit_text(value: TextEdit, context: FunctionContext) -> WrittenFile:
    """Edit a file.

    Raises:
        FunctionRefusal: The path names a file that tool functions may not touch, or nothing would
            change.
        FunctionFailure: `old` does not occur exactly once, the file changed since it was read, or
            it cannot be written.
    """
    if value.old == value.new:
        raise FunctionRefusal("`new` is equal to `old`, so nothing would change")
    return await FUNCTION_THREADS.finish(_edit, value, context.workspace, context.key)


def _edit(value: TextEdit, workspace: Workspace, key: str) -> WrittenFile:
    workspace.changeable(value.path)

    def plan(repeated: bool) -> list[Edit]:
        text = _after(value, readable_file(workspace, value.path, MAX_EDITED_BYTES), repeated)
        return plan_edits(workspace, [Change(file_path=value.path, type="modify", content=text)])

    result = apply_planned(workspace, _digest(value), key, plan)
    content = readable_file(workspace, value.path, MAX_EDITED_BYTES + len(value.new.encode()))
    is_applied = result.applied[0].status == "applied"
    return WrittenFile(
        path=value.path,
        status="replaced" if is_applied else "unchanged",
        bytes=len(content),
        sha256=sha256(content).hexdigest(),
        backup=result.backup if is_applied else None,
    )


def _after(value: TextEdit, content: bytes, repeated: bool) -> str:
    """Return the whole new text; the same one if an earlier attempt of the call edited it."""
    text = decoded(content)
    if text is None:
        raise FunctionFailure(f"{value.path!r} is not UTF-8 text")
    if repeated and is_present(text, value):
        return text
    now = sha256(content).hexdigest()
    if value.if_sha256 not in (None, now):
        raise FunctionFailure(
            f"{value.path!r} is not in the state of if_sha256: it has the hash {now} now; read it "
            "again"
        )
    after = edited(text, value)
    if isinstance(after, NotUnique):
        raise FunctionFailure(f"{value.path!r} was not changed: {after.reason}")
    return after.text


def _digest(value: TextEdit) -> str:
    """Identify the edit; no set of changes has the same digest."""
    return sha256(json.dumps(["edit", value.path, value.old, value.new]).encode()).hexdigest()


EDIT = ToolFunction[TextEdit, WrittenFile](
    name="Files.edit",
    description="Replaces one text of a file of the project, which must occur exactly once in it.",
    effect="idempotent",
    input=TypeAdapter(TextEdit),
    output=TypeAdapter(WrittenFile),
    run=edit_text,
    timeout=60.0,
    errors={
        FailureType.FUNCTION_REFUSED: "the path names a file outside the workspace, or a protected "
        "file; or `new` is equal to `old`",
        FailureType.FUNCTION_FAILED: "`old` does not occur exactly once, the file changed since it "
        "was read (`if_sha256`), it is not UTF-8 text or over 4 MB, or cannot be written",
    },
)
