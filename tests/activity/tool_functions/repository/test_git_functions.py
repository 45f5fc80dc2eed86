"""Reading a git repository and committing to it: exact, bounded, repeatable."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from coterie.activities.contracts import FailureType
from coterie.activities.workspace.function_base import Workspace
from coterie.dsl.values import Json
from tests.support.tool_functions import call, refusal

Git = Callable[..., str]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    return place


@pytest.fixture
def git(root: Path) -> Git:
    return git_in(root)


def git_in(root: Path) -> Git:
    """Plain git in a new repository, as a person uses it."""

    def run(*arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, check=True
        )
        return done.stdout

    run("init", "--quiet", "--initial-branch=main")
    run("config", "user.name", "Ada")
    run("config", "user.email", "ada@shop.example")
    return run


@pytest.fixture
def workspace(root: Path, git: Git) -> Workspace:
    (root / "cart.py").write_text("a = 1\nb = 2\n")
    (root / "old.py").write_text("gone soon\n")
    git("add", ".")
    git("commit", "--quiet", "-m", "Begin\n\nWith two files.")
    return Workspace(root)


async def result(workspace: Workspace, function: str, **wanted: JsonValue) -> Json:
    return cast("Json", await call(workspace, function, wanted))


async def test_status_reports_the_branch_and_each_file_that_differs(
    workspace: Workspace, root: Path, git: Git
) -> None:
    head = git("rev-parse", "HEAD").strip()
    assert await result(workspace, "Git.status") == {
        "branch": "main",
        "head": head,
        "clean": True,
        "files": [],
        "complete": True,
    }
    (root / "cart.py").write_text("a = 2\nb = 2\n")
    (root / "old.py").unlink()
    (root / "näw file.py").write_text("")
    (root / "staged.py").write_text("s\n")
    git("add", "staged.py")
    found = await result(workspace, "Git.status")
    assert (found["clean"], found["files"]) == (
        False,
        [
            {"path": "cart.py", "staged": "unmodified", "unstaged": "modified"},
            {"path": "old.py", "staged": "unmodified", "unstaged": "deleted"},
            {"path": "staged.py", "staged": "added", "unstaged": "unmodified"},
            {"path": "näw file.py", "staged": "untracked", "unstaged": "untracked"},
        ],
    )
    found = await result(workspace, "Git.status", max_files=1)
    assert (len(cast("list[Json]", found["files"])), found["complete"]) == (1, False)


async def test_status_shows_conflicts_and_a_detached_head(
    workspace: Workspace, root: Path, git: Git
) -> None:
    git("checkout", "--quiet", "-b", "other")
    (root / "cart.py").write_text("a = 3\n")
    git("commit", "--quiet", "-am", "Other")
    git("checkout", "--quiet", "--detach", "main")
    (root / "cart.py").write_text("a = 4\n")
    git("commit", "--quiet", "-am", "Mine")
    with pytest.raises(subprocess.CalledProcessError):
        git("merge", "other")
    found = await result(workspace, "Git.status")
    assert found["branch"] is None
    assert found["files"] == [{"path": "cart.py", "staged": "conflicted", "unstaged": "conflicted"}]
    error = await refusal(workspace, "Git.commit", {"message": "x", "paths": ["cart.py"]})
    assert "finish what is in progress first (MERGE_HEAD)" in error.message


async def test_diff_shows_changes_against_index_head_or_a_revision(
    workspace: Workspace, root: Path, git: Git
) -> None:
    (root / "cart.py").write_text("a = 2\nb = 2\n")
    (root / "blob.bin").write_bytes(b"\0\1")
    git("add", "blob.bin")
    found = await result(workspace, "Git.diff", context_lines=0)
    assert found["files"] == [{"path": "cart.py", "added": 1, "removed": 1, "shown": True}]
    assert str(found["diff"]).endswith("@@ -1 +1 @@\n-a = 1\n+a = 2\n")
    staged = await result(workspace, "Git.diff", staged=True)
    assert staged["files"] == [{"path": "blob.bin", "added": None, "removed": None, "shown": True}]
    based = await result(workspace, "Git.diff", base="HEAD", paths=["cart.py"])
    assert [one["path"] for one in cast("list[Json]", based["files"])] == ["cart.py"]


async def test_diff_lists_files_that_do_not_fit_and_hides_secrets(
    workspace: Workspace, root: Path, git: Git
) -> None:
    (root / "cart.py").write_text("a = 2\n")
    (root / "old.py").write_text("x\n" * 500)
    (root / ".env").write_text("KEY=old\n")
    git("add", ".env")
    git("commit", "--quiet", "-m", "A secret")
    (root / ".env").write_text("KEY=new\n")
    found = await result(workspace, "Git.diff", max_bytes=300)
    shown = {one["path"]: one["shown"] for one in cast("list[Json]", found["files"])}
    assert shown == {".env": False, "cart.py": True, "old.py": False}
    assert "KEY" not in str(found["diff"])
    assert found["complete"] is False


async def test_log_lists_commits_newest_first_and_those_of_a_path(
    workspace: Workspace, root: Path, git: Git
) -> None:
    (root / "new.py").write_text("n\n")
    git("add", ".")
    git("commit", "--quiet", "-m", "Add new")
    found = await result(workspace, "Git.log", max_commits=1)
    (latest,) = cast("list[Json]", found["commits"])
    assert (latest["author"], latest["message"], found["complete"]) == ("Ada", "Add new", False)
    found = await result(workspace, "Git.log", paths=["cart.py"])
    (first,) = cast("list[Json]", found["commits"])
    assert (first["message"], first["parents"], found["complete"]) == (
        "Begin\n\nWith two files.",
        [],
        True,
    )


async def test_an_empty_repository_has_no_commits_and_takes_the_first(root: Path, git: Git) -> None:
    workspace = Workspace(root)
    assert await result(workspace, "Git.log") == {"commits": [], "complete": True}
    (root / "a.txt").write_text("a\n")
    made = await result(workspace, "Git.commit", message="Begin", paths=["."])
    assert (made["id"], made["files"]) == (git("rev-parse", "HEAD").strip(), ["a.txt"])
    assert git("status", "--porcelain") == ""


async def test_commit_takes_the_named_files_and_leaves_what_a_person_staged(
    workspace: Workspace, root: Path, git: Git
) -> None:
    (root / "cart.py").write_text("a = 2\n")
    (root / "old.py").unlink()
    (root / "mine.py").write_text("m\n")
    git("add", "mine.py")
    made = await result(workspace, "Git.commit", message=" Change\n", paths=["cart.py", "old.py"])
    assert made == {
        "id": git("rev-parse", "HEAD").strip(),
        "branch": "main",
        "files": ["cart.py", "old.py"],
        "status": "committed",
    }
    assert git("show", "--name-status", "--format=%an|%B", "HEAD") == (
        "Ada|Change\n\nM\tcart.py\nD\told.py\n".replace("\n\nM", "\n\n\nM")
    )
    assert git("status", "--porcelain") == "A  mine.py\n"


async def test_a_commit_of_everything_refuses_the_workers_own_files(root: Path, git: Git) -> None:
    (root / ".coterie").mkdir()
    (root / ".coterie/key").write_text("k\n")
    error = await refusal(Workspace(root), "Git.commit", {"message": "x", "paths": ["."]})
    assert "'.coterie/key' belongs to the worker" in error.message


async def test_a_repeated_commit_finds_the_first_one(
    workspace: Workspace, root: Path, git: Git
) -> None:
    (root / "cart.py").write_text("a = 2\n")
    (root / "old.py").unlink()
    wanted: Json = {"message": "Change", "paths": ["cart.py", "old.py"]}
    made = await result(workspace, "Git.commit", **wanted)
    again = await result(workspace, "Git.commit", **wanted)
    assert again == {**made, "status": "already_committed"}
    assert git("rev-list", "--count", "HEAD") == "2\n"
    error = await refusal(workspace, "Git.commit", {"message": "Other", "paths": ["cart.py"]})
    assert (error.type, error.non_retryable) == (FailureType.FUNCTION_FAILED, True)
    assert "nothing to commit" in error.message


@pytest.mark.parametrize(
    ("function", "wanted", "kind", "why"),
    [
        ("Git.diff", {"base": "--output=/tmp/x"}, "FunctionRefused", "is not a revision"),
        ("Git.diff", {"base": "main..other"}, "FunctionRefused", "is not a revision"),
        ("Git.diff", {"base": "absent"}, "FunctionFailed", "no commit 'absent'"),
        ("Git.log", {"revision": "-p"}, "FunctionRefused", "is not a revision"),
        ("Git.log", {"paths": ["../x"]}, "FunctionRefused", "'..'"),
        ("Git.commit", {"message": "x", "paths": [".git/config"]}, "FunctionRefused", ".git"),
        (
            "Git.commit",
            {"message": "x", "paths": [".env"]},
            "FunctionRefused",
            "may contain secrets",
        ),
        ("Git.commit", {"message": "x", "paths": ["ignored.log"]}, "FunctionFailed", "ignored"),
        (
            "Git.commit",
            {"message": "x", "paths": ["absent"]},
            "FunctionFailed",
            "nothing to commit",
        ),
        ("Git.commit", {"message": " \n", "paths": ["."]}, "FunctionRefused", "message"),
    ],
)
async def test_calls_that_cannot_work_are_refused_and_change_nothing(
    workspace: Workspace,
    root: Path,
    git: Git,
    function: str,
    wanted: JsonValue,
    kind: str,
    why: str,
) -> None:
    (root / ".env").write_text("KEY=1\n")
    (root / ".gitignore").write_text("*.log\n")
    (root / "ignored.log").write_text("l\n")
    error = await refusal(workspace, function, wanted)
    assert (error.type, error.non_retryable) == (kind, True)
    assert why in error.message
    assert git("rev-list", "--count", "HEAD") == "1\n"
    assert git("diff", "--cached", "--name-only") == ""


async def test_a_commit_without_an_identity_names_the_fix(root: Path, tmp_path: Path) -> None:
    git = git_in(root)
    git("config", "--unset", "user.name")
    git("config", "--unset", "user.email")
    git("config", "user.useConfigOnly", "true")
    (root / "a.txt").write_text("a\n")
    workspace = Workspace(root, environment={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})
    error = await refusal(workspace, "Git.commit", {"message": "x", "paths": ["."]})
    assert "set user.name and user.email with `git config`" in error.message


async def test_a_worktree_of_the_persons_own_is_read(
    workspace: Workspace, root: Path, git: Git, tmp_path: Path
) -> None:
    git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    found = await result(Workspace(tmp_path / "side"), "Git.status")
    assert (found["branch"], found["clean"]) == ("side", True)


async def test_a_folder_that_is_no_repository_is_named(tmp_path: Path) -> None:
    error = await refusal(Workspace(tmp_path), "Git.status")
    assert "not the root of a git repository; run `git init` there" in error.message
