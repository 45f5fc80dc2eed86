"""The diff of what `Git.commit` would commit, before the call. The repository stays as it is."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue, ValidationError

from coterie.activities.tool_functions.repository.git_commit import (
    GitCommitInput,
    changed_files,
    refuse_filters,
    refuse_private,
    stage_files,
    tree_before,
)
from coterie.activities.tool_functions.repository.git_diff import SAFE_OPTIONS, relative_paths
from coterie.activities.tool_functions.repository.git_program import (
    GitRepository,
    failed,
    repository,
)
from coterie.activities.workspace.function_base import Workspace
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal

_KINDS = {"new file mode": "create", "deleted file mode": "delete"}
_DIFF = "diff --git "


async def shown_commit(given: JsonValue, workspace: Workspace) -> list[str]:
    """Return the diff of what a call with this input would commit, or why it would fail."""
    try:
        return await commit_diff(GitCommitInput.model_validate(given), workspace)
    except (ValidationError, FunctionRefusal, FunctionFailure, OSError) as error:
        why = "its input is not valid" if isinstance(error, ValidationError) else str(error)
        return [f"(no diff: this call would fail now: {why})"]


async def commit_diff(value: GitCommitInput, workspace: Workspace) -> list[str]:
    """Return the lines of the diff; each file begins with `create`, `modify` or `delete`.

    Raises:
        FunctionRefusal: The commit would be refused.
        FunctionFailure: There is nothing to commit, or git fails.
    """
    paths = relative_paths(workspace, value.paths)
    git = await repository(workspace)
    parent = await git.head()
    with git.temporary_folder() as folder:
        index, apart = folder / "index", await _apart(git, folder / "objects")
        await stage_files(apart, index, parent, paths)
        files = await changed_files(apart, index, parent)
        if not files:
            raise FunctionFailure("these files have no changes")
        refuse_private(files, workspace)
        await refuse_filters(git, files)
        against = await tree_before(apart, parent)
        compared = await apart.run(
            "diff-index", "-p", "--cached", *SAFE_OPTIONS, against, index=index
        )
    if not compared.complete:
        return [f"modify {path}" for path in files] + ["(the diff is too large to show)"]
    if compared.exit_code != 0:
        raise failed("diff-index", compared)
    return list(_shown_lines(compared.output.decode(errors="replace")))


async def _apart(git: GitRepository, objects: Path) -> GitRepository:
    """Return the repository so that new objects go into a folder of their own."""
    own = (await git.read("rev-parse", "--git-path", "objects")).output.decode().rstrip("\n")
    (objects / "info").mkdir(parents=True)
    git.give(objects)
    (objects / "info" / "alternates").write_text(f"{(git.root / own).resolve()}\n")
    return replace(git, environment={**git.environment, "GIT_OBJECT_DIRECTORY": str(objects)})


def _shown_lines(diff: str) -> Iterator[str]:
    """Yield the lines of a diff without git's own heads of files."""
    head: list[str] = []
    kind, in_head = "modify", False
    for line in diff.removesuffix("\n").split("\n"):
        if line.startswith(_DIFF):
            if in_head:  # of an empty file, or of a mode alone
                yield from head
            head, kind, in_head = [f"modify {_path_in(line)}"], "modify", True
        elif in_head and not line.startswith(("@@", "Binary files ")):
            kind = next((name for start, name in _KINDS.items() if line.startswith(start)), kind)
            head[0] = f"{kind} {head[0].partition(' ')[2]}"
            head += [line] if line.startswith(("old mode ", "new mode ")) else []
        else:
            yield from head
            head, in_head = [], False
            yield line
    yield from head


def _path_in(line: str) -> str:
    """Return the path in `diff --git a/PATH b/PATH`, which may be quoted."""
    names = line.removeprefix(_DIFF)
    return names[: len(names) // 2].strip('"').removeprefix("a/")
