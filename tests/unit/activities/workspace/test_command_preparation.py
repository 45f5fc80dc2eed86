"""What surrounds a command: its arguments, its sandbox, and what it may not put in place."""

import os
import stat
from pathlib import Path

import pytest

from coterie.activities.processes.bubblewrap import Bubblewrap
from coterie.activities.processes.process_group import CommandEnd
from coterie.activities.workspace.command_parameters import ParameterProblem, filled
from coterie.activities.workspace.command_start import Prepared, prepare, why_not_started
from coterie.activities.workspace.function_base import Command, Workspace
from coterie.activities.workspace.trusted_entries import set_aside, trusted_entries

VALUES = {"a": ("1", "2"), "b": ("-x y",), "n": ("-2.5",), "none": ()}


@pytest.mark.parametrize(
    ("part", "arguments"),
    [
        ("{a}", ("1", "2")),
        ("{none}", ()),
        ("{n}", ("-2.5",)),
        ("--a={a}", ("--a=1",)),
        ("-b{b}", ("-b-x y",)),
        ("{a}{a}", ("11",)),
        ("{a}x", ("1x",)),
        ("x{a}", ("x1",)),
        ("{ax", ("{ax",)),
        ("xa}", ("xa}",)),
        ("{other}", ("{other}",)),
        ("{}", ("{}",)),
    ],
)
def test_a_value_stands_where_its_name_stood(part: str, arguments: tuple[str, ...]) -> None:
    assert filled(("{a}", part), VALUES) == ("{a}", *arguments)


@pytest.mark.parametrize("part", ["{b}", "{b}/x"])
def test_a_value_is_never_read_as_an_option(part: str) -> None:
    with pytest.raises(ParameterProblem, match="would be read as an option"):
        filled(("make", part), VALUES)


def sandboxed(root: Path, **environment: str) -> Workspace:
    everywhere = {"PATH": os.environ["PATH"], **environment}
    return Workspace(root, environment=everywhere, sandbox=Bubblewrap("bwrap"))


def prepared(workspace: Workspace) -> Prepared:
    return prepare(Command("list", ("ls",)), workspace, workspace.root, {})


def test_a_sandbox_has_an_empty_home_where_the_worker_has_one(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    home = "/home/nobody-of-this-machine"
    assert home in prepared(sandboxed(root, HOME=home)).argv
    without = prepared(sandboxed(root)).argv
    assert without == prepared(sandboxed(root, HOME="")).argv
    assert "--tmpfs" in without


def test_the_state_exists_before_a_command_could_create_it(tmp_path: Path) -> None:
    root, outside = tmp_path / "project", tmp_path / "elsewhere" / "state"
    root.mkdir()
    inner = root / "kept" / "state"
    for place in (Path("kept/state"), Path("kept/state"), outside):
        prepared(Workspace(root, state_dir=place, sandbox=Bubblewrap("bwrap")))
    assert stat.S_IMODE(inner.stat().st_mode) == 0o700
    assert not outside.exists()


def test_folders_of_compiled_code_beside_trusted_modules_exist(tmp_path: Path) -> None:
    (tmp_path / "teams").mkdir()
    caches = (tmp_path / "teams" / "__pycache__", tmp_path / "none" / "__pycache__")
    workspace = Workspace(tmp_path, protected=caches, sandbox=Bubblewrap("bwrap"))
    for _ in range(2):
        prepared(workspace)
        assert [cache.is_dir() for cache in caches] == [True, False]


def test_files_of_secrets_are_hidden_except_among_installed_packages(tmp_path: Path) -> None:
    names = (".env", "app/.env.local", "app/.ENV")
    installed = (".venv/.env", "app/node_modules/x/.env", ".coterie/.env")
    shown = ("app/.env.example", "app/env")
    for name in (*names, *shown, *installed):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("KEY=sk")
    argv = prepared(sandboxed(tmp_path)).argv
    assert [name for name in (*names, *shown, *installed) if str(tmp_path / name) in argv] == [
        *names
    ]


@pytest.mark.parametrize(
    ("run", "missing", "started"),
    [
        (("python", "-m", "pytest"), "pytest", False),
        (("python", "-m", "pkg.tool"), "pkg", False),
        (("python", "-m", "pkg"), "pkg.__main__", False),
        (("python", "-m", "pytest"), "py", True),
        (("python", "-m", "pytest"), "numpy", True),
        (("sh", "-c", "python -m ruff . && python -m pytest"), "pytest", False),
        (("sh", "-c", "python -m ruff . && python -m pytest"), "ruff", False),
        (("python", "check.py"), "pytest", True),
    ],
)
def test_a_module_that_is_not_found_is_the_launched_one(
    run: tuple[str, ...], missing: str, started: bool
) -> None:
    ended = CommandEnd(exit_code=1, timed_out=False, seconds=0)
    output = f"/usr/bin/python: No module named {missing}\n"
    why = why_not_started(Command("it", run), Prepared(run, {}, None), ended, output)
    assert (why is None) is started


def test_only_names_below_the_root_are_trusted_entries(tmp_path: Path) -> None:
    root = tmp_path / "gone"
    noted = trusted_entries(root, [root / "b", root, root / "a", root / "a"])
    assert noted.absent == (root / "a", root / "b")
    assert noted.links == ()


def test_a_link_comes_back_also_when_its_folders_are_gone(tmp_path: Path) -> None:
    root = tmp_path / "project"
    links = (root / "a" / "b" / "teams", root / "config")
    links[0].parent.mkdir(parents=True)
    for link in links:
        link.symlink_to("/usr/share")
    before = trusted_entries(root, links)
    links[0].unlink()
    links[0].parent.rmdir()
    links[0].parent.parent.rmdir()
    links[1].unlink()
    assert set_aside(before, tmp_path / "aside") == ("a/b/teams", "config")
    assert [os.readlink(link) for link in links] == ["/usr/share", "/usr/share"]
    assert set_aside(before, tmp_path / "aside") == ()
    assert not (tmp_path / "aside").exists()
