"""`Git.commit`: record files of the project in a new commit.

The commit is made with git's basic commands on an index of its own, so no hook, no filter and no
editor runs, and what a person has staged in other files stays staged. The branch moves only from
the commit that was read, so nothing is ever overwritten. A repeated call finds its commit.
"""

import os
from pathlib import Path
from typing import Literal

from pydantic import Field, TypeAdapter

from coterie.activities.contracts import FailureType
from coterie.activities.tool_functions.repository.git_diff import relative_paths
from coterie.activities.tool_functions.repository.git_program import (
    GitRepository,
    failed,
    repository,
)
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction, Workspace
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal
from coterie.activities.workspace.secret_files import holds_secrets
from coterie.dsl.schema_keys import KIND
from coterie.dsl.values import Documented

_NO_COMMIT = "0" * 40
_UNFINISHED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")


class GitCommitInput(Documented):
    """What to commit."""

    message: str = Field(min_length=1, max_length=10_000, pattern=r"\S")
    """The commit message."""
    paths: tuple[str, ...] = Field(min_length=1, max_length=1000, json_schema_extra={KIND: "path"})
    """Files and folders to commit as they are now, relative to the workspace; `.` for all. Deleted
    files are committed as deleted, ignored files are left out."""


class MadeCommit(Documented):
    """The commit."""

    id: str
    """Its full hash."""
    branch: str | None
    """The branch that has it; null if HEAD is detached."""
    files: list[str]
    """The files that it changes, sorted; at most 1000."""
    status: Literal["committed", "already_committed"]
    """`already_committed` if the last commit has this message and the files have no changes."""


async def make_commit(value: GitCommitInput, context: FunctionContext) -> MadeCommit:
    """Commit files.

    Raises:
        FunctionRefusal: A path leads outside the project, a file may contain secrets or needs a
            filter, or `.git` leads elsewhere.
        FunctionFailure: There is nothing to commit, git has no identity for the author, a merge is
            in progress, or git fails.
    """
    paths = relative_paths(context.workspace, value.paths)
    git = await repository(context.workspace)
    unfinished = next((name for name in _UNFINISHED if (git.git_dir / name).exists()), None)
    if unfinished is not None:
        raise FunctionFailure(f"a person must finish what is in progress first ({unfinished})")
    parent = await git.head()
    with git.temporary_folder() as folder:
        index = folder / "index"
        await stage_files(git, index, parent, paths)
        tree = (await git.read("write-tree", index=index)).output.decode().strip()
        files = await changed_files(git, index, parent)
    if not files:
        return await _repeated_commit(git, value, parent)
    refuse_private(files, context.workspace)
    await refuse_filters(git, files)
    commit = await _create_commit(git, value, tree, parent)
    await _unstage(git, paths)
    return MadeCommit(id=commit, branch=await _branch(git), files=files[:1000], status="committed")


async def stage_files(
    git: GitRepository, index: Path, parent: str | None, paths: list[str]
) -> None:
    """Stage the files on top of the parent."""
    await git.read("read-tree", *(["--empty"] if parent is None else [parent]), index=index)
    known_paths = [path for path in paths if await _is_known(git, index, path)]
    if known_paths:
        await git.read("add", "--all", "--", *known_paths, index=index)


async def _is_known(git: GitRepository, index: Path, path: str) -> bool:
    """Return whether a path exists, or is in the parent: it may have been deleted."""
    if _exists(git.root / path):
        return True
    return bool((await git.read("ls-files", "-z", "--", path, index=index)).output)


def _exists(place: Path) -> bool:
    return os.path.lexists(place)


async def changed_files(git: GitRepository, index: Path, parent: str | None) -> list[str]:
    """Return the files that differ from the parent."""
    against = await tree_before(git, parent)
    result = await git.read(
        *("diff-index", "--cached", "--name-only", "--no-renames", "-z"), against, index=index
    )
    return sorted(path for path in result.output.decode(errors="replace").split("\0") if path)


async def tree_before(git: GitRepository, parent: str | None) -> str:
    """Return the parent, or the empty tree before the first commit."""
    if parent is not None:
        return parent
    return (await git.read("hash-object", "-t", "tree", "--stdin")).output.decode().strip()


def refuse_private(files: list[str], workspace: Workspace) -> None:
    """Refuse files with secrets, and the worker's own."""
    for path in files:
        mine = (workspace.root / path).is_relative_to(workspace.state_dir)
        if mine or holds_secrets(path):
            why = "belongs to the worker" if mine else "may contain secrets"
            raise FunctionRefusal(
                f"{path!r} {why}; add such files to .gitignore, or let a person commit them"
            )


async def refuse_filters(git: GitRepository, files: list[str]) -> None:
    """Refuse files that git would convert by a program, because none runs."""
    if not git.filters:
        return
    paths = "".join(f"{path}\0" for path in files).encode(errors="surrogateescape")
    result = await git.read("check-attr", "--stdin", "-z", "filter", given=paths)
    fields = result.output.decode(errors="replace").split("\0")
    for path, _, name in zip(fields[0::3], fields[1::3], fields[2::3], strict=False):
        if name in git.filters:
            raise FunctionRefusal(
                f"{path!r} passes through the git filter {name!r}, a program that tool functions "
                "do not run; a person must commit it"
            )


async def _create_commit(
    git: GitRepository, value: GitCommitInput, tree: str, parent: str | None
) -> str:
    ancestry = ["-p", parent] if parent is not None else []
    result = await git.run("commit-tree", *ancestry, tree, given=_commit_message(value))
    if result.exit_code != 0 and "tell me who you are" in result.errors:
        raise FunctionFailure(
            "git has no identity for the author; set user.name and user.email with `git config`"
        )
    if result.exit_code != 0:
        raise failed("commit-tree", result)
    commit = result.output.decode().strip()
    title = value.message.strip().splitlines()[0][:200]
    moved = await git.run(
        "update-ref", "-m", f"commit: {title}", "HEAD", commit, parent or _NO_COMMIT
    )
    if moved.exit_code != 0:
        error = failed("update-ref", moved)
        raise FunctionFailure(f"{error}; somebody else may have committed", may_pass=True)
    return commit


async def _repeated_commit(
    git: GitRepository, value: GitCommitInput, parent: str | None
) -> MadeCommit:
    """Return the last commit if it is the one that the caller wants."""
    if parent is not None:
        log = await git.read("log", "-1", "--no-show-signature", "--format=%B", parent)
        if log.output.strip() == _commit_message(value).strip():
            await _unstage(git, list(value.paths))
            listing = await git.read(
                *("diff-tree", "--root", "--no-commit-id", "--name-only", "--no-renames"),
                *("-r", "-z", parent),
            )
            files = sorted(
                path for path in listing.output.decode(errors="replace").split("\0") if path
            )
            return MadeCommit(
                id=parent,
                branch=await _branch(git),
                files=files[:1000],
                status="already_committed",
            )
    raise FunctionFailure("there is nothing to commit: these files do not exist or have no changes")


async def _unstage(git: GitRepository, paths: list[str]) -> None:
    """Bring the repository's own index to the new commit, for these paths."""
    await git.read("reset", "--quiet", "--", *paths)


def _commit_message(value: GitCommitInput) -> bytes:
    return f"{value.message.strip()}\n".encode()


async def _branch(git: GitRepository) -> str | None:
    result = await git.run("symbolic-ref", "--quiet", "--short", "HEAD")
    return result.output.decode(errors="replace").strip() or None


COMMIT = ToolFunction[GitCommitInput, MadeCommit](
    name="Git.commit",
    description="Commits files of the project as they are now, without running hooks.",
    effect="idempotent",
    input=TypeAdapter(GitCommitInput),
    output=TypeAdapter(MadeCommit),
    run=make_commit,
    timeout=120.0,
    errors={
        FailureType.FUNCTION_REFUSED: "a path leads outside the workspace, a file may contain "
        "secrets or passes through a git filter, or `.git` leads to another repository",
        FailureType.FUNCTION_FAILED: "there is nothing to commit, git has no `user.name` and "
        "`user.email`, a merge is in progress, or git fails",
    },
)
