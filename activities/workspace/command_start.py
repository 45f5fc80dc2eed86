"""How a named command is started: its program, its environment, the sandbox around it.

Also whether it was: a launcher like `python -m` that does not find what it launches has run
nothing of the project.
"""

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from activities.processes.bubblewrap import SandboxView
from activities.processes.process_group import CommandEnd, NotStarted
from activities.processes.python_interpreter import (
    PythonInterpreter,
    folders_of,
    project_interpreter,
)
from activities.workspace.protected_files import why_protected
from activities.workspace.skill_base import Command, Workspace

PASSED_ON = ("PATH", "HOME", "LANG", "TMPDIR", "VIRTUAL_ENV")
"""Environment variables that every command sees, besides all `LC_*`."""
PYTHON = "{python}"
_NO_MODULE = re.compile(r"(?m)^\S+: No module named '?([\w.]+)")
_NOT_FOUND = (126, 127)
"""What shells, `env` and the like end with when they cannot run a program."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A command as the system starts it."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    python: str | None
    """What `{python}` stands for."""
    apart: bool
    """It runs in a sandbox."""


def prepare(command: Command, workspace: Workspace, cwd: Path) -> Prepared:
    """What to start; blocking.

    Raises:
        NotStarted: there is no such program.
    """
    seen = environment_of(command.env, workspace.environment)
    python = _python(command, workspace, cwd)
    name = str(python.program) if python else None
    argv = tuple(part.replace(PYTHON, name or PYTHON) for part in command.run)
    if workspace.sandbox is None:
        return Prepared(argv, seen, name, apart=False)
    home = Path(seen["HOME"]) if seen.get("HOME") else None
    needs = folders_of(_program(argv[0], cwd, seen), home)
    view = _view(command, workspace, cwd, home, (*needs, *(python.needs if python else ())))
    wrapped = tuple(workspace.sandbox.wrapped(argv, view))
    return Prepared(wrapped, {**seen, "TMPDIR": "/tmp"}, name, apart=True)


def environment_of(names: tuple[str, ...], environment: Mapping[str, str]) -> dict[str, str]:
    """The few variables of the worker that a command sees.

    Args:
        names: those that its configuration passes on, too.
        environment: the worker's own.
    """
    passed = {*PASSED_ON, *names}
    seen = {
        name: value
        for name, value in environment.items()
        if name in passed or name.startswith("LC_")
    }
    return {"PATH": os.defpath, **seen}


def why_not_started(
    command: Command, prepared: Prepared, ended: CommandEnd, output: str
) -> str | None:
    """Why nothing of a command has run although its launcher did; None when it has."""
    last = output.strip().rpartition("\n")[2]
    if prepared.apart and ended.exit_code == 1 and re.fullmatch(r"bwrap: .*\n", output):
        return last
    module = _module(command)
    found = _NO_MODULE.search(last)
    if ended.exit_code == 1 and module and found and f"{module}.".startswith(f"{found[1]}."):
        fix = "install it in the project's own environment, like .venv in the workspace"
        return f"{prepared.python or command.run[0]} has no module {found[1]!r}; {fix}"
    if ended.exit_code in _NOT_FOUND and not command.once:
        return f"it could not run a program that it needs (exit code {ended.exit_code}): {last}"
    return None


def _module(command: Command) -> str | None:
    """What `python -m` launches."""
    if "-m" not in command.run[1:-1]:
        return None
    return command.run[command.run.index("-m", 1) + 1]


def _python(command: Command, workspace: Workspace, cwd: Path) -> PythonInterpreter | None:
    if not any(PYTHON in part for part in command.run):
        return None
    found = project_interpreter(workspace.root, cwd, workspace.environment)
    if found is None:
        raise NotStarted(
            "the project has no Python: no virtual environment (.venv) in the workspace, and none "
            "on PATH but Coterie's own; make one with `python3 -m venv .venv`"
        )
    return found


def _program(name: str, cwd: Path, environment: Mapping[str, str]) -> Path:
    """The file of a program, as the system would find it."""
    where = str(cwd / name) if "/" in name else name
    found = shutil.which(where, path=environment["PATH"])
    if found is None:
        raise NotStarted("No such file or directory, or it may not be executed")
    return Path(found)


def _view(
    command: Command, workspace: Workspace, cwd: Path, home: Path | None, needs: tuple[Path, ...]
) -> SandboxView:
    state = workspace.state_dir
    if state.is_relative_to(workspace.root):
        state.mkdir(mode=0o700, parents=True, exist_ok=True)  # so that no command makes one
    secrets = (path for folder in {workspace.root, cwd} for path in folder.glob(".env*"))
    return SandboxView(
        root=workspace.root,
        cwd=cwd,
        home=home,
        read=(*needs, *workspace.readable),
        protected=workspace.protected,
        hidden=(state, *workspace.hidden, *(path for path in secrets if _is_secret(path))),
        network=command.network,
    )


def _is_secret(path: Path) -> bool:
    return path.is_file() and why_protected((path.name,)) is not None
