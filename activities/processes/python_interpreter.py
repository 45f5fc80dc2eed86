"""Find the project's own Python, for `{python}` in commands, and the folders programs need.

Never use the Python that Coterie is installed in, which has different packages. Never execute
anything of the project to find it, because its files are untrusted.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_ENVIRONMENTS = (".venv", "venv")
_NAMES = ("python3", "python")
_PARTS = ("bin", "lib", "lib64", "include")
_LOOK_TIMEOUT = 10.0
_CHOOSERS = ("PATH", "HOME", "PYENV_", "ASDF_", "MISE_", "RYE_")
"""Variables for scripts that choose a Python; they get nothing else of the worker's environment."""
_WHERE = "import sys; print(sys.executable, sys.prefix, sys.base_prefix, sep='\\n')"


@dataclass(frozen=True, slots=True)
class PythonInterpreter:
    """A Python and the folders that it must be able to read."""

    program: Path
    needs: tuple[Path, ...] = ()


def project_interpreter(
    root: Path, folder: Path, environment: Mapping[str, str]
) -> PythonInterpreter | None:
    """Find the interpreter of a project, or None.

    Use the nearest virtual environment from the folder up to the root, else the active one
    (`VIRTUAL_ENV`), else the first Python on PATH that is not Coterie's own.

    Args:
        root: The project's root.
        folder: Where the command runs, at or below the root.
        environment: The worker's environment.
    """
    own = (above / name for above in _up_to(folder, root) for name in _ENVIRONMENTS)
    active = (Path(path) for path in (environment.get("VIRTUAL_ENV"),) if path)
    for place in (*own, *active):
        program = place / "bin" / "python"
        if (place / "pyvenv.cfg").is_file() and program.exists():
            return PythonInterpreter(program, (place, *_base_of(place)))
    for program in _on_path(environment.get("PATH", os.defpath)):
        if program.is_relative_to(root) or _is_coteries(program):
            continue
        return _interpreter_behind(program, folder, environment)
    return None


def folders_of(program: Path, home: Path | None) -> tuple[Path, ...]:
    """Return the folders that a program needs: its own, and the installation around it.

    Args:
        program: Path as found; it may be a link.
        home: Home directory; its `lib` and `share`, and those in `.local`, do not count.
    """
    folders: list[Path] = []
    for folder in {program.parent, program.resolve().parent}:
        folders.append(folder)
        prefix = folder.parent
        if (prefix / "pyvenv.cfg").is_file():
            folders += (prefix, *_base_of(prefix))
        elif folder.name == "bin" and home is not None and prefix not in (home, home / ".local"):
            folders += (prefix / part for part in ("lib", "lib64", "libexec", "share"))
    return tuple(path for path in dict.fromkeys(folders) if path.is_dir() and path != path.parent)


def _up_to(folder: Path, root: Path) -> Iterator[Path]:
    yield folder
    while folder != root and folder.is_relative_to(root):
        folder = folder.parent
        yield folder


def _on_path(path: str) -> Iterator[Path]:
    for place in path.split(os.pathsep):
        for name in _NAMES:
            program = Path(place) / name
            if program.is_absolute() and program.is_file() and os.access(program, os.X_OK):
                yield program


def _is_coteries(program: Path) -> bool:
    """Return whether the program is in the virtual environment of this process."""
    return sys.prefix != sys.base_prefix and program.is_relative_to(sys.prefix)


def _base_of(place: Path) -> tuple[Path, ...]:
    """Return the installations that a virtual environment is based on.

    A project can write anything into its pyvenv.cfg, so accept only real Python installations.
    """
    try:
        lines = (place / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ()
    settings = dict(line.split("=", 1) for line in lines if "=" in line)
    home = next(
        (Path(value.strip()) for key, value in settings.items() if key.strip() == "home"), None
    )
    if home is None or not home.is_absolute():
        return ()
    return _parts(home.parent) + (_parts(home.resolve().parent) if home.is_symlink() else ())


def _parts(prefix: Path) -> tuple[Path, ...]:
    prefix = prefix.resolve()
    if not any(prefix.glob("lib/python3*/os.py")):
        return ()
    return tuple(prefix / part for part in _PARTS if (prefix / part).is_dir())


def _interpreter_behind(
    program: Path, folder: Path, environment: Mapping[str, str]
) -> PythonInterpreter:
    """Run a Python from PATH, which may be a script that chooses one, to find the real one."""
    variables = {name: value for name, value in environment.items() if name.startswith(_CHOOSERS)}
    try:
        completed = subprocess.run(
            [program, "-I", "-c", _WHERE],
            cwd=folder,
            env=variables,
            text=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_LOOK_TIMEOUT,
            check=True,
        )
        executable, prefix, base = completed.stdout.splitlines()
    except (OSError, subprocess.SubprocessError, ValueError):
        return PythonInterpreter(program)
    path = Path(executable or program)
    place = Path(prefix)
    environment_of = (place,) if prefix != base else ()
    return PythonInterpreter(path, (*environment_of, *_parts(Path(base))))
