"""`Git.status`: which files of the project differ from the last commit."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field, TypeAdapter

from coterie.activities.contracts import FailureType
from coterie.activities.tool_functions.repository.git_program import repository
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction
from coterie.dsl.values import Documented

FileState = Literal[
    "unmodified",
    "modified",
    "added",
    "deleted",
    "type_changed",
    "untracked",
    "conflicted",
]

_STATES: dict[str, FileState] = {
    ".": "unmodified",
    "M": "modified",
    "A": "added",
    "D": "deleted",
    "T": "type_changed",
    "U": "conflicted",
}


class GitStatusInput(Documented):
    """How much to report; null uses the defaults."""

    max_files: int = Field(default=500, ge=1, le=5000)
    """Files to report."""


class GitFileStatus(Documented):
    """A file that differs from the last commit, or is new."""

    path: str
    """Relative to the workspace."""
    staged: FileState
    """The index compared with the last commit."""
    unstaged: FileState
    """The file compared with the index. A renamed file is one deleted and one added."""


class GitStatus(Documented):
    """The state of the working tree. Submodules are not examined."""

    branch: str | None
    """The current branch; null if HEAD is detached."""
    head: str | None
    """The id of the last commit; null before the first one."""
    clean: bool
    """Whether no file differs and none is untracked."""
    files: list[GitFileStatus]
    """At most `max_files`."""
    complete: bool
    """Whether `files` has all of them."""


async def read_status(value: GitStatusInput | None, context: FunctionContext) -> GitStatus:
    """Read the state of the working tree.

    Raises:
        FunctionRefusal: `.git` leads elsewhere.
        FunctionFailure: The workspace is not a repository, or git fails.
    """
    request = value or GitStatusInput()
    git = await repository(context.workspace)
    result = await git.read(
        *("status", "--porcelain=v2", "-z", "--branch", "--untracked-files=all"),
        *("--ignore-submodules=all", "--no-renames"),
    )
    records = result.output.decode(errors="replace").split("\0")
    if not result.complete:
        records.pop()
    heads = dict(record[2:].split(" ", 1) for record in records if record.startswith("# branch."))
    files = list(_files(records))
    head = heads.get("branch.oid", "(initial)")
    branch = heads.get("branch.head", "(detached)")
    return GitStatus(
        branch=None if branch == "(detached)" else branch,
        head=None if head == "(initial)" else head,
        clean=not files,
        files=files[: request.max_files],
        complete=result.complete and len(files) <= request.max_files,
    )


def _files(records: list[str]) -> Iterator[GitFileStatus]:
    """Read the entries of git's second porcelain format, without renames."""
    for record in records:
        match record[:2]:
            case "1 ":
                states, path = record[2:4], record.split(" ", 8)[8]
                yield _status(path, _STATES[states[0]], _STATES[states[1]])
            case "u ":
                yield _status(record.split(" ", 10)[10], "conflicted", "conflicted")
            case "? ":
                yield _status(record[2:], "untracked", "untracked")
            case _:
                continue


def _status(path: str, staged: FileState, unstaged: FileState) -> GitFileStatus:
    return GitFileStatus(path=path, staged=staged, unstaged=unstaged)


STATUS = ToolFunction[GitStatusInput | None, GitStatus](
    name="Git.status",
    description="Reports the branch and the files that differ from the last commit.",
    effect="read",
    input=TypeAdapter(GitStatusInput | None),
    output=TypeAdapter(GitStatus),
    run=read_status,
    timeout=60.0,
    errors={
        FailureType.FUNCTION_REFUSED: "`.git` leads to another repository",
        FailureType.FUNCTION_FAILED: "the workspace is not the root of a git repository, git is "
        "not installed, or it fails",
    },
    labels=("private",),
)
