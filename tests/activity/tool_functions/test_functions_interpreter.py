"""`{python}` is the project's own interpreter, and a command that cannot start it has not run."""

import os
import sys
import venv
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from coterie.activities.contracts import FailureType
from coterie.activities.processes.process_group import NotStarted
from coterie.activities.processes.python_interpreter import project_interpreter
from coterie.activities.tool_functions.command_runner import CommandResult
from coterie.activities.workspace.command_start import prepare
from coterie.activities.workspace.function_base import Command, Workspace
from tests.support.tool_functions import call, refusal

WHERE = Command("it", ("{python}", "-c", "import sys; print(sys.prefix)"))


def made(place: Path) -> Path:
    """A virtual environment without pip, in milliseconds."""
    venv.create(place, symlinks=True)
    return place


def workspace_at(root: Path, *commands: Command, **environment: str) -> Workspace:
    return Workspace(root, {command.name: command for command in commands}, environment=environment)


async def prefix(workspace: Workspace) -> str:
    data = await call(workspace, "CommandRunner.run", {"command": "it"})
    return TypeAdapter(CommandResult).validate_python(data).output.strip()


async def test_the_projects_environment_is_stronger_than_the_active_one(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "web").mkdir(parents=True)
    active = made(tmp_path / "active")
    assert await prefix(workspace_at(root, WHERE, VIRTUAL_ENV=str(active))) == str(active)
    own = made(root / ".venv")
    assert await prefix(workspace_at(root, WHERE, VIRTUAL_ENV=str(active))) == str(own)
    below = made(root / "web" / "venv")
    there = Command("it", WHERE.run, cwd="web")
    assert await prefix(workspace_at(root, there, VIRTUAL_ENV=str(active))) == str(below)


async def test_the_first_on_path_counts_else_and_never_coteries_own(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    other = made(tmp_path / "other")
    path = os.pathsep.join((str(Path(sys.executable).parent), str(other / "bin")))
    assert sys.prefix != sys.base_prefix, "Coterie runs in an environment of its own here"
    assert await prefix(workspace_at(root, WHERE, PATH=path)) == str(other)
    only = str(Path(sys.executable).parent)
    workspace = workspace_at(root, WHERE, PATH=only)
    error = await refusal(workspace, "CommandRunner.run", {"command": "it"})
    assert error.type == FailureType.FUNCTION_FAILED
    assert "the project has no Python" in error.message
    assert "python3 -m venv .venv" in error.message


def test_a_command_needs_a_python_when_it_names_one_and_only_then(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, environment={"PATH": str(Path(sys.executable).parent)})
    plain = prepare(Command("it", ("sh", "-c", "true")), workspace, tmp_path, {})
    assert (plain.argv, plain.python) == (("sh", "-c", "true"), None)
    with pytest.raises(NotStarted, match="the project has no Python"):
        prepare(Command("it", ("{python}",)), workspace, tmp_path, {})
    own = made(tmp_path / ".venv") / "bin" / "python"
    named = prepare(Command("it", ("env", "P={python}")), workspace, tmp_path, {})
    assert (named.argv, named.python) == (("env", f"P={own}"), str(own))


async def test_a_script_on_path_that_chooses_a_python_is_asked_which(tmp_path: Path) -> None:
    other = made(tmp_path / "other")
    shims = tmp_path / "shims"
    shims.mkdir()
    (shims / "python3").write_text(f'#!/bin/sh\nexec {other}/bin/python "$@"\n')
    (shims / "python3").chmod(0o755)
    found = project_interpreter(tmp_path / "project", tmp_path, {"PATH": f"{shims}:/usr/bin:/bin"})
    assert found is not None
    assert found.program.parent == other / "bin"
    assert other in found.needs


def test_an_environment_of_the_project_is_read_and_never_executed(tmp_path: Path) -> None:
    """A model can write it: what it names is no reason to show anything but a Python."""
    own = tmp_path / ".venv"
    (own / "bin").mkdir(parents=True)
    secrets = tmp_path / "secrets"
    (secrets / "bin").mkdir(parents=True)
    (own / "pyvenv.cfg").write_text(f"home = {secrets}/bin\n")
    (own / "bin" / "python").write_text(f"#!/bin/sh\ntouch {tmp_path}/executed\n")
    (own / "bin" / "python").chmod(0o755)
    found = project_interpreter(tmp_path, tmp_path, {})
    assert found is not None
    assert found.needs == (own,)
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("{python}", "-m", "no_such_module", "-q"), "has no module 'no_such_module'"),
        (("{python}", "-m", "json.no_such"), "has no module 'json.no_such'"),
        (("{python}", "-m", "xml"), "has no module 'xml.__main__'"),
        (("sh", "-c", "{python} -m no_such_module"), "has no module 'no_such_module'"),
        (
            (
                "sh",
                "-c",
                "uv() { echo 'error: Failed to spawn: `pytest`'; exit 2; }; uv run pytest",
            ),
            "uv found no program 'pytest'",
        ),
        (("sh", "-c", "no-such-program"), "exit code 127"),
        (("env", "no-such-program"), "exit code 127"),
    ],
)
async def test_a_command_whose_launcher_finds_nothing_is_no_result(
    tmp_path: Path, words: tuple[str, ...], reason: str
) -> None:
    made(tmp_path / ".venv")
    workspace = workspace_at(tmp_path, Command("it", words), PATH=os.defpath)
    error = await refusal(workspace, "CommandRunner.run", {"command": "it"})
    assert error.type == FailureType.FUNCTION_FAILED
    assert "could not start command 'it'" in error.message
    assert reason in error.message


async def test_a_project_that_lacks_a_module_is_a_result(tmp_path: Path) -> None:
    """Its own import fails: the command ran, and that is for the model to mend."""
    made(tmp_path / ".venv")
    (tmp_path / "mine.py").write_text("import no_such_module\n")
    command = Command("it", ("{python}", "-m", "mine"))
    data = await call(workspace_at(tmp_path, command), "CommandRunner.run", {"command": "it"})
    result = TypeAdapter(CommandResult).validate_python(data)
    assert (result.exit_code, result.passed) == (1, False)
    assert "ModuleNotFoundError: No module named 'no_such_module'" in result.output
