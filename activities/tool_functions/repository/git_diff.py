"""`Git.diff`: how files of the project differ from the index or a commit."""

from collections.abc import Iterator

from pydantic import Field, TypeAdapter

from coterie.activities.contracts import FailureType
from coterie.activities.tool_functions.repository.git_program import (
    GitRepository,
    failed,
    repository,
)
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction, Workspace
from coterie.activities.workspace.secret_files import holds_secrets
from coterie.dsl.schema_keys import KIND
from coterie.dsl.values import Documented

MAX_FILES = 1000
"""Files of one diff: their paths are arguments of git."""

SAFE_OPTIONS = (
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=all",
    "--no-renames",
)
"""With these, a diff runs no program of the repository and enters no submodule."""


class GitDiffInput(Documented):
    """What to compare; null compares the files with the index."""

    paths: tuple[str, ...] = Field(default=(), max_length=200, json_schema_extra={KIND: "path"})
    """Files and folders, relative to the workspace; empty for all."""
    staged: bool = False
    """Compare the index instead of the files, as `git diff --cached`."""
    base: str | None = Field(default=None, min_length=1, max_length=200)
    """A commit, branch or tag to compare with; default: the index, or HEAD if `staged`."""
    context_lines: int = Field(default=3, ge=0, le=50)
    """Unchanged lines around each change."""
    max_bytes: int = Field(default=200_000, ge=1, le=1_000_000)
    """Bytes of the diff to return; files that do not fit are listed without their diff."""


class GitFileDiff(Documented):
    """How one file differs."""

    path: str
    """Relative to the workspace."""
    added: int | None
    """Number of lines; null for a binary file."""
    removed: int | None
    """Number of lines; null for a binary file."""
    shown: bool
    """Whether `diff` has its lines: false over `max_bytes`, and for files whose names suggest
    secrets."""


class GitDiff(Documented):
    """The difference. Untracked files have none; submodules are not examined."""

    diff: str
    """A unified diff; invalid UTF-8 is replaced."""
    files: list[GitFileDiff]
    """Sorted by path."""
    complete: bool
    """Whether `diff` has all files of `files`, and `files` has all files (at most 1000)."""


async def read_diff(value: GitDiffInput | None, context: FunctionContext) -> GitDiff:
    """Read a difference.

    Raises:
        FunctionRefusal: A path leads outside the project, `base` is not a revision, or `.git` leads
            elsewhere.
        FunctionFailure: No such commit, the workspace is not a repository, or git fails.
    """
    request = value or GitDiffInput()
    git = await repository(context.workspace)
    compared = ["--cached"] if request.staged else []
    if request.base is not None:
        compared.append(await git.commit_id(request.base))
    paths = relative_paths(context.workspace, request.paths)
    counted = await git.read("diff", *SAFE_OPTIONS, "--numstat", "-z", *compared, "--", *paths)
    files = sorted(_counts(counted.output.decode(errors="surrogateescape")))
    chosen = files[:MAX_FILES]
    readable = [path for path, _, _ in chosen if not holds_secrets(path)]
    diff, shown_paths = await _diffs(git, readable, request, compared)
    return GitDiff(
        diff=diff.decode(errors="replace"),
        files=[
            GitFileDiff(
                path=_printable(path), added=added, removed=removed, shown=path in shown_paths
            )
            for path, added, removed in chosen
        ],
        complete=counted.complete and len(shown_paths) == len(files),
    )


def relative_paths(workspace: Workspace, paths: tuple[str, ...]) -> list[str]:
    """Return paths as git sees them, without following the last part if it is a link.

    Raises:
        FunctionRefusal: One leads outside the project.
    """
    for path in paths:
        workspace.inside(path)
    return list(paths)


async def _diffs(
    git: GitRepository, paths: list[str], request: GitDiffInput, compared: list[str]
) -> tuple[bytes, set[str]]:
    """Return the diffs that fit, and the paths of their files."""
    if not paths:
        return b"", set()
    whole = await _diff_of(git, paths, request, compared, request.max_bytes)
    if whole is not None:
        return whole, set(paths)
    texts, remaining = dict[str, bytes](), request.max_bytes
    for path in paths:
        text = await _diff_of(git, [path], request, compared, remaining)
        if text is None:
            break
        remaining -= len(text)
        texts[path] = text
    return b"".join(texts.values()), set(texts)


async def _diff_of(
    git: GitRepository, paths: list[str], request: GitDiffInput, compared: list[str], maximum: int
) -> bytes | None:
    """Return the diff of files; None if it does not fit."""
    arguments = (*SAFE_OPTIONS, f"--unified={request.context_lines}", *compared, "--", *paths)
    result = await git.run("diff", *arguments, maximum=maximum)
    if not result.complete:
        return None
    if result.exit_code != 0:
        raise failed("diff", result)
    return result.output


def _counts(text: str) -> Iterator[tuple[str, int | None, int | None]]:
    for record in text.split("\0"):
        added, _, rest = record.partition("\t")
        removed, tab, path = rest.partition("\t")
        if tab:
            yield path, _number(added), _number(removed)


def _number(text: str) -> int | None:
    return None if text == "-" else int(text)


def _printable(path: str) -> str:
    return path.encode(errors="surrogateescape").decode(errors="replace")


DIFF = ToolFunction[GitDiffInput | None, GitDiff](
    name="Git.diff",
    description="Shows how the project's files differ from the index or from a commit.",
    effect="read",
    input=TypeAdapter(GitDiffInput | None),
    output=TypeAdapter(GitDiff),
    run=read_diff,
    timeout=120.0,
    errors={
        FailureType.FUNCTION_REFUSED: "a path leads outside the workspace, `base` is not a "
        "revision, or `.git` leads to another repository",
        FailureType.FUNCTION_FAILED: "no such commit, the workspace is not the root of a git "
        "repository, git is not installed, or it fails",
    },
    labels=("private",),
)
