"""`Git.log`: the latest commits of the project."""

from pydantic import Field, TypeAdapter

from coterie.activities.contracts import FailureType
from coterie.activities.tool_functions.repository.git_diff import relative_paths
from coterie.activities.tool_functions.repository.git_program import repository
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction
from coterie.dsl.schema_keys import KIND
from coterie.dsl.values import Documented
from coterie.dsl.visible import shortened_text

MAX_MESSAGE = 5_000
"""Characters of a commit message."""


class GitLogInput(Documented):
    """Which commits; null reads the latest 20."""

    revision: str = Field(default="HEAD", min_length=1, max_length=200)
    """The commit, branch or tag to start from."""
    paths: tuple[str, ...] = Field(default=(), max_length=200, json_schema_extra={KIND: "path"})
    """Only commits that change these files and folders; relative to the workspace."""
    max_commits: int = Field(default=20, ge=1, le=500)
    """Commits to read."""


class GitCommit(Documented):
    """A commit."""

    id: str
    """Its full hash."""
    parents: list[str]
    """The hashes of its parents."""
    author: str
    """The author's name."""
    date: str
    """When it was written, in ISO 8601."""
    message: str
    """Its message, at most 5,000 characters."""


class GitLog(Documented):
    """The commits, newest first."""

    commits: list[GitCommit]
    """Empty before the first commit."""
    complete: bool
    """Whether there are no older ones."""


async def read_log(value: GitLogInput | None, context: FunctionContext) -> GitLog:
    """Read commits.

    Raises:
        FunctionRefusal: A path leads outside the project, `revision` is none, or `.git` leads
            elsewhere.
        FunctionFailure: No such commit, the workspace is not a repository, or git fails.
    """
    request = value or GitLogInput()
    git = await repository(context.workspace)
    if request.revision == "HEAD" and await git.head() is None:
        return GitLog(commits=[], complete=True)
    start = await git.commit_id(request.revision)
    paths = relative_paths(context.workspace, request.paths)
    result = await git.read(
        *("log", "-z", "--no-color", "--no-show-signature", "--no-mailmap", "--encoding=UTF-8"),
        f"--max-count={request.max_commits + 1}",
        "--format=%H%x1f%P%x1f%an%x1f%aI%x1f%B",
        *(start, "--", *paths),
    )
    records = [text for text in result.output.decode(errors="replace").split("\0") if text]
    if not result.complete:
        records.pop()
    commits = [_commit(record) for record in records[: request.max_commits]]
    return GitLog(commits=commits, complete=result.complete and len(records) <= request.max_commits)


def _commit(record: str) -> GitCommit:
    commit, parents, author, date, message = record.split("\x1f", 4)
    return GitCommit(
        id=commit,
        parents=parents.split(),
        author=author,
        date=date,
        message=shortened_text(message.rstrip("\n"), MAX_MESSAGE),
    )


LOG = ToolFunction[GitLogInput | None, GitLog](
    name="Git.log",
    description="Lists the latest commits of the project, also those of some files.",
    effect="read",
    input=TypeAdapter(GitLogInput | None),
    output=TypeAdapter(GitLog),
    run=read_log,
    timeout=60.0,
    errors={
        FailureType.FUNCTION_REFUSED: "a path leads outside the workspace, `revision` is not a "
        "revision, or `.git` leads to another repository",
        FailureType.FUNCTION_FAILED: "no such commit, the workspace is not the root of a git "
        "repository, git is not installed, or it fails",
    },
    labels=("private",),
)
