"""Prepare a named command: its program, its environment, the sandbox around it.

Also find out whether it started: a launcher like `python -m` that does not find its module has run
nothing of the project. Only its own message at the end of the output counts, with its own exit
code, about a program that the command names.
"""

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from coterie.activities.processes.bubblewrap import SandboxView
from coterie.activities.processes.process_group import CommandEnd, NotStarted
from coterie.activities.processes.python_interpreter import (
    PythonInterpreter,
    folders_of,
    project_interpreter,
)
from coterie.activities.workspace.command_parameters import filled
from coterie.activities.workspace.function_base import Command, Workspace
from coterie.activities.workspace.protected_files import why_protected
from coterie.activities.workspace.trusted_entries import TrustedEntries, trusted_entries


@dataclass(frozen=True, slots=True)
class Launcher:
    """A launcher, and how it reports that it found no program."""

    name: str
    named: re.Pattern[str]
    """What is in a command that uses it."""
    exit_codes: tuple[int, ...]
    message: re.Pattern[str]
    """Its message, to the end of the output; the group is the program."""


def _launcher(name: str, named: str, exit_codes: tuple[int, ...], message: str) -> Launcher:
    whole = re.compile(rf"(?:\A|\n){message}\s*\Z")
    return Launcher(name, re.compile(named), exit_codes, whole)


LAUNCHERS = (
    _launcher("poetry", r"\bpoetry\b", (1,), r"Command not found: (\S+)"),
    _launcher(
        "pipenv",
        r"\bpipenv\b",
        (1,),
        r"Error: the command (\S+) could not be found within PATH(?: or Pipfile's \[scripts\])?\.?",
    ),
    _launcher(
        "pdm", r"\bpdm\b", (1,), r"\[PdmUsageError\]: Command '(\S+)' is not found in your PATH\."
    ),
    _launcher("uv", r"\buvx?\b", (2,), r"error: Failed to spawn: `?([^`\n]+)`?(?:\n\s+\S.*)*"),
    _launcher("yarn", r"\byarn\b", (1,), r'error Command "(\S+)" not found\.(?:\ninfo .*)*'),
    _launcher(  # from version 2 on
        "yarn",
        r"\byarn\b",
        (1,),
        r"""Usage Error: Couldn't find a script named "(\S+)"\.(?:\s*\n\$ yarn run .*)?""",
    ),
    _launcher(
        "pnpm",
        r"\bpnpm\b",
        (1, 254),
        r'\s*ERR_PNPM_RECURSIVE_EXEC_FIRST_FAIL\s+Command "(\S+)" not found'
        r"(?:\s*\nDid you mean .*)?",
    ),
)

_NPM = re.compile(r"\b(?:npm|npx)\b")
_OF_NPM = re.compile(r"npm (?:error|ERR!|warn|WARN)(?: (.*))?")
_NPM_FOUND_NO_SCRIPT = re.compile(r"Missing script: .*")
_NPM_FOUND_NOTHING = re.compile(
    r"could not determine executable to run|npx canceled due to missing packages"
    r"|code (?:E404|ENOTCACHED|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT)\b"
)


def why_not_launched(
    run: Sequence[str], argv: Sequence[str], exit_code: int | None, output: str
) -> str | None:
    """Explain which program the launcher of a command did not find; None if it may have run.

    Args:
        run: The command as the worker's configuration has it.
        argv: The command as it ran, with the values of its parameters.
        exit_code: How it ended.
        output: What it wrote.
    """
    command_line, ran = " ".join(run), " ".join(argv)
    for launcher in LAUNCHERS:
        if exit_code not in launcher.exit_codes or not launcher.named.search(command_line):
            continue
        match = launcher.message.search(output)
        if match is not None and re.search(rf"(?<![\w-]){re.escape(match[1])}(?![\w-])", ran):
            name = f"{launcher.name} found no program {match[1]!r}"
            return f"{name}; add it to the project's dependencies"
    if exit_code == 1 and _NPM.search(command_line):
        return _why_npm(output)
    return None


def _why_npm(output: str) -> str | None:
    """Explain why npm found nothing: then every line is its own, and one of them says so."""
    lines = [_OF_NPM.fullmatch(line) for line in output.splitlines() if line.strip()]
    texts = [line[1] or "" for line in lines if line is not None]
    if len(texts) < len(lines):
        return None
    script = next((text for text in texts if _NPM_FOUND_NO_SCRIPT.match(text)), None)
    if script is not None:
        return f"npm found no script ({script}); add it to `scripts` in package.json"
    reason = next((text for text in texts if _NPM_FOUND_NOTHING.search(text)), None)
    if reason is None:
        return None
    return f"npm found no program ({reason}); add it to the project's dependencies"


PASSED_ON = ("PATH", "HOME", "LANG", "TMPDIR", "VIRTUAL_ENV")
"""Environment variables that every command sees, besides all `LC_*`."""
SAFE_IMPORTS = {"PYTHONSAFEPATH": "1"}
"""For a program that has secrets and runs in the workspace, where agents write: Python imports
nothing from there."""
PYTHON = "{python}"
CACHE = "__pycache__"
_SECRET = ".env"
_INSTALLED = frozenset((".git", ".venv", "venv", "node_modules", ".tox", ".nox", CACHE))
"""Folders of installed programs and of git: they hold no secrets of the project."""
_NO_MODULE = re.compile(r"(?m)^\S+: No module named '?([\w.]+)")
_LAUNCHED = re.compile(r"(?:^|\s)-m\s+([\w.]+)")
_NOT_FOUND = (126, 127)
"""Exit codes of shells, `env` and similar tools that cannot run a program."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A command ready to start."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    python: str | None
    """The value of `{python}`."""
    trusted: TrustedEntries | None = None
    """What is at trusted names before it runs in a sandbox; None without one."""

    @property
    def apart(self) -> bool:
        """Whether it runs in a sandbox."""
        return self.trusted is not None


def prepare(
    command: Command, workspace: Workspace, cwd: Path, values: Mapping[str, tuple[str, ...]]
) -> Prepared:
    """Prepare a command with the values of its parameters; blocking.

    Raises:
        NotStarted: The program does not exist.
    """
    environment = environment_of(command.env, workspace.environment)
    python = _python(command, workspace, cwd)
    name = str(python.program) if python else None
    argv = filled(tuple(part.replace(PYTHON, name or PYTHON) for part in command.run), values)
    if workspace.sandbox is None:
        return Prepared(argv, environment, name)
    home = Path(environment["HOME"]) if environment.get("HOME") else None
    needs = folders_of(_program(argv[0], cwd, environment), home)
    view = _view(command, workspace, cwd, home, (*needs, *(python.needs if python else ())))
    wrapped = tuple(workspace.sandbox.wrapped(argv, view))
    trusted = trusted_entries(workspace.root, view.trusted)
    return Prepared(wrapped, {**environment, "TMPDIR": "/tmp"}, name, trusted)


def environment_of(names: tuple[str, ...], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the few variables of the worker that a command sees.

    Args:
        names: Further variables that its configuration passes on.
        environment: The worker's environment.
    """
    passed = {*PASSED_ON, *names}
    variables = {
        name: value
        for name, value in environment.items()
        if name in passed or name.startswith("LC_")
    }
    return {"PATH": os.defpath, **variables}


def why_not_started(
    command: Command, prepared: Prepared, ended: CommandEnd, output: str
) -> str | None:
    """Explain why a command did not run although its launcher did; None if it ran."""
    last = output.strip().rpartition("\n")[2]
    if prepared.apart and ended.exit_code == 1 and re.fullmatch(r"bwrap: .*\n", output):
        return last
    match = _NO_MODULE.search(last)
    if ended.exit_code == 1 and match and _launches(command, match[1]):
        fix = "install it in the project's own environment, such as .venv in the workspace"
        return f"{prepared.python or command.run[0]} has no module {match[1]!r}; {fix}"
    launched = why_not_launched(command.run, prepared.argv, ended.exit_code, output)
    if launched is not None:
        return launched
    if ended.exit_code in _NOT_FOUND and not command.once:
        return f"it could not run a program that it needs (exit code {ended.exit_code}): {last}"
    return None


def _launches(command: Command, missing: str) -> bool:
    """Return whether `python -m` of the command, also within a shell, launches a missing module."""
    launched = _LAUNCHED.findall(" ".join(command.run[1:]))
    return any(f"{module}.__main__.".startswith(f"{missing}.") for module in launched)


def _python(command: Command, workspace: Workspace, cwd: Path) -> PythonInterpreter | None:
    if not any(PYTHON in part for part in command.run):
        return None
    interpreter = project_interpreter(workspace.root, cwd, workspace.environment)
    if interpreter is None:
        raise NotStarted(
            "the project has no Python: neither a virtual environment (.venv) in the workspace "
            "nor a Python on PATH other than Coterie's own; create one with `python3 -m venv .venv`"
        )
    return interpreter


def _program(name: str, cwd: Path, environment: Mapping[str, str]) -> Path:
    """Find a program's file as the system would."""
    where = str(cwd / name) if "/" in name else name
    program = shutil.which(where, path=environment["PATH"])
    if program is None:
        raise NotStarted("the file does not exist or is not executable")
    return Path(program)


def _view(
    command: Command, workspace: Workspace, cwd: Path, home: Path | None, needs: tuple[Path, ...]
) -> SandboxView:
    state = workspace.state_dir
    if state.is_relative_to(workspace.root):
        # created here so that no command can create it
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in workspace.protected:
        # created here so that no command can put compiled code beside the worker's modules
        if path.name == CACHE and path.parent.is_dir():
            path.mkdir(exist_ok=True)
    return SandboxView(
        root=workspace.root,
        cwd=cwd,
        home=home,
        read=(*needs, *workspace.readable),
        protected=workspace.protected,
        hidden=(state, *workspace.hidden, *_secrets(workspace.root, state)),
        network=command.network,
    )


def _secrets(root: Path, state: Path) -> Iterator[Path]:
    """Yield every `.env` below a folder, with its variants; installed packages hold none."""
    for at, folders, files in os.walk(root):
        folders[:] = (
            folder
            for folder in folders
            if folder not in _INSTALLED and os.path.join(at, folder) != str(state)
        )
        for name in files:
            path = Path(at, name)
            if name.casefold().startswith(_SECRET) and why_protected((name,)) and path.is_file():
                yield path
