"""Tool functions stay in the project: no path leads out of it or into its hidden parts."""

from pathlib import Path

import pytest

from coterie.activities.workspace.function_base import Command, Workspace
from coterie.activities.workspace.function_failures import FunctionRefusal


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / ".git").mkdir()
    (tmp_path / "outside").mkdir()
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "out.txt").symlink_to(tmp_path / "outside" / "not-yet.txt")
    (root / "in").symlink_to(root / "src")
    (root / "to-git").symlink_to(root / ".git")
    (root / "loop").symlink_to(root / "loop")
    return Workspace(root)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "a path is empty"),
        ("  ", "a path is empty"),
        ("/etc/passwd", "is absolute"),
        ("C:/windows", "is absolute"),
        ("..", "has '..'"),
        ("src/../../x", "has '..'"),
        ("src/../x", "has '..'"),
        ("src\\x", "has a backslash"),
        ("a\0b", "NUL"),
        ("out/x.txt", "leads outside the project by a symlink"),
        ("out.txt", "leads outside the project by a symlink"),
        ("loop/x", "cannot be resolved"),
        (".git/config", "is in .git"),
        (".GIT/config", "is in .git"),
        ("src/.git/hooks/x", "is in .git"),
        ("to-git/config", "is in .git"),
        (".coterie", "which belongs to the worker"),
        (".coterie/server.db", "which belongs to the worker"),
    ],
)
def test_a_path_out_of_the_project_is_refused(workspace: Workspace, path: str, reason: str) -> None:
    with pytest.raises(FunctionRefusal, match=r".") as caught:
        workspace.inside(path)
    assert reason in str(caught.value)


def test_a_path_inside_is_given_as_the_real_file(workspace: Workspace) -> None:
    assert workspace.inside(".") == workspace.root
    assert workspace.inside("src/new.py") == workspace.root / "src" / "new.py"
    assert workspace.inside("in/new.py") == workspace.root / "src" / "new.py"
    assert workspace.inside(".gitignore") == workspace.root / ".gitignore"


def test_the_state_directory_may_lie_elsewhere(tmp_path: Path) -> None:
    root = tmp_path / "project"
    workspace = Workspace(root, state_dir=Path("var/state"))
    assert workspace.state_dir == root / "var" / "state"
    with pytest.raises(FunctionRefusal):
        workspace.inside("var/state/x")
    assert Workspace(root, state_dir=tmp_path / "state").state_dir == tmp_path / "state"


def test_a_workspace_does_not_show_the_workers_environment(tmp_path: Path) -> None:
    assert "sk-1" not in repr(Workspace(tmp_path, environment={"API_KEY": "sk-1"}))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"run": ()}, "has no program to run"),
        ({"run": ("pytest",), "timeout": 0.0}, "a timeout of 0 s"),
        ({"run": ("pytest",), "timeout": 3601.0}, "at most 3600 s"),
    ],
)
def test_a_command_that_cannot_work_is_refused_when_it_is_configured(
    fields: dict[str, object], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        Command("test", **fields)  # pyright: ignore[reportArgumentType]
