"""`Files.list`: list the files of the project without their contents."""

from pydantic import Field, TypeAdapter

from coterie.activities.contracts import FailureType
from coterie.activities.threads.run_threads import FUNCTION_THREADS
from coterie.activities.workspace.file_walk import Entry, walk
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction, Workspace
from coterie.activities.workspace.function_failures import FunctionFailure
from coterie.activities.workspace.globs import Globs
from coterie.dsl.schema_keys import KIND
from coterie.dsl.values import Documented


class FileListInput(Documented):
    """Which files to list; null lists the whole workspace."""

    path: str = Field(default=".", min_length=1, max_length=4096, json_schema_extra={KIND: "path"})
    """A folder or file, relative to the workspace."""
    include: tuple[str, ...] = Field(default=(), max_length=100)
    """Globs as in a `.gitignore`; empty means all files."""
    exclude: tuple[str, ...] = Field(default=(), max_length=100)
    """Globs as in a `.gitignore`."""
    max_files: int = Field(default=1000, ge=1, le=10_000)
    """Files to list."""


class ListedFile(Documented):
    """A file of the project."""

    path: str
    """Relative to the workspace."""
    bytes: int
    """Size; 0 if it is unknown."""
    unreadable: str | None
    """Why its content cannot be read, for example a file name that suggests secrets; null if it
    can."""


class FileList(Documented):
    """The files that git would track, sorted by path."""

    path: str
    """The listed folder or file, relative to the workspace."""
    files: list[ListedFile]
    """At most `max_files`."""
    total: int
    """Number of files, with those that are not in `files`."""
    complete: bool
    """Whether `files` has all of them."""


async def list_files(value: FileListInput | None, context: FunctionContext) -> FileList:
    """List files.

    Raises:
        FunctionRefusal: The path leads outside the project, or a glob is malformed.
        FunctionFailure: Nothing exists at the path.
    """
    request = value or FileListInput()
    files = await FUNCTION_THREADS.finish(
        selected, context.workspace, request.path, request.include, request.exclude
    )
    return FileList(
        path=request.path,
        files=[
            ListedFile(path=file.path, bytes=file.bytes, unreadable=file.why_not or None)
            for file in files[: request.max_files]
        ],
        total=len(files),
        complete=len(files) <= request.max_files,
    )


def selected(
    workspace: Workspace, path: str, include: tuple[str, ...], exclude: tuple[str, ...]
) -> list[Entry]:
    """Return the files of a call, sorted by path; blocking.

    Raises:
        FunctionRefusal: The path leads outside the project, or a glob is malformed.
        FunctionFailure: Nothing exists at the path.
    """
    top = workspace.inside(path)
    if not top.exists():
        raise FunctionFailure(f"nothing exists at {path!r} in the project")
    globs = Globs.of(include, exclude)
    return list(walk(workspace.root, top, globs, never=workspace.state_dir))


LIST = ToolFunction[FileListInput | None, FileList](
    name="Files.list",
    description="Lists files of the project with their sizes, without files that git ignores.",
    effect="read",
    input=TypeAdapter(FileListInput | None),
    output=TypeAdapter(FileList),
    run=list_files,
    timeout=60.0,
    labels=("private",),
    errors={
        FailureType.FUNCTION_REFUSED: (
            "the path leads outside the workspace, or a glob is malformed"
        ),
        FailureType.FUNCTION_FAILED: "nothing exists at the path",
    },
)
