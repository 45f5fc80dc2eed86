"""The table of functions that code for a sandbox may not use, by their full names."""

from collections.abc import Iterable, Iterator
from typing import Final

from coterie.dsl.safety.blocked_rules import BlockedRule

BUILTINS: Final = frozenset(
    (
        "open",
        "file",
        "exec",
        "execfile",
        "eval",
        "compile",
        "__import__",
        "input",
        "raw_input",
        "breakpoint",
        "globals",
        "__builtins__",
        "__loader__",
        "__spec__",
    )
)
"""Names that reach files, the terminal or other code, wherever nothing else has the name."""

INTERNALS: Final = frozenset(
    (
        "__globals__",
        "__builtins__",
        "__subclasses__",
        "__bases__",
        "__base__",
        "__mro__",
        "__code__",
        "__closure__",
        "__getattribute__",
        "__import__",
        "__loader__",
        "__reduce__",
        "__reduce_ex__",
        "f_globals",
        "f_locals",
        "f_builtins",
        "f_back",
        "gi_frame",
        "cr_frame",
        "tb_frame",
    )
)
"""Attributes that lead from a value to all of Python. `__class__` alone leads nowhere."""

_ENDINGS = ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")
_PATHS = ("Path", "PosixPath", "WindowsPath")


def _of(module: str, names: Iterable[str]) -> Iterator[str]:
    return (f"{module}.{name}" for name in names)


def _of_system(*names: str) -> Iterator[str]:
    """Name functions of `os`, and the same of the modules that it takes them from."""
    return (f"{module}.{name}" for module in ("os", "posix", "nt") for name in names)


def _of_paths(*names: str) -> Iterator[str]:
    """Name methods of a path, taken from one or from its class."""
    return (
        f"pathlib.{path}{call}.{name}" for path in _PATHS for call in ("", "()") for name in names
    )


_PROCESSES = (
    *_of_system("system", "popen", "startfile", "fork", "forkpty", "posix_spawn", "posix_spawnp"),
    *_of_system("kill", "killpg", "abort", "_exit"),
    *_of_system(*(f"exec{ending}" for ending in _ENDINGS)),
    *_of_system(*(f"spawn{ending}" for ending in _ENDINGS)),
    *_of("subprocess", ("run", "Popen", "call", "check_call", "check_output")),
    *_of("subprocess", ("getoutput", "getstatusoutput")),
    *_of("commands", ("getoutput", "getstatusoutput")),
    *_of("asyncio", ("create_subprocess_exec", "create_subprocess_shell")),
    *_of("subprocess", ("create_subprocess_exec", "create_subprocess_shell")),  # of asyncio's
    "pty.spawn",
)
_DELETIONS = (
    *_of_system("remove", "unlink", "rmdir", "removedirs", "truncate"),
    *_of_paths("unlink", "rmdir"),
    "shutil.rmtree",
)
_RIGHTS = (
    *_of_system("chmod", "lchmod", "fchmod", "chown", "lchown", "fchown"),
    *_of_system("setuid", "seteuid", "setgid", "setegid", "setgroups"),
    *_of_paths("chmod", "lchmod"),
    "shutil.chown",
)
_IMPORTS = (
    *_of("importlib", ("import_module", "reload")),
    *_of("importlib.util", ("spec_from_file_location", "module_from_spec")),
    *_of("imp", ("load_source", "load_module", "load_dynamic")),
    "zipimport.zipimporter",
)
_FILES_AND_CODE = (
    *_of("builtins", (name for name in sorted(BUILTINS) if name not in INTERNALS)),
    *_of("io", ("open", "open_code", "FileIO")),
    *_of_system("open", "fdopen"),
    *_of_paths("open", "read_text", "read_bytes", "write_text", "write_bytes", "touch"),
    *_of("runpy", ("run_path", "run_module")),
    *_of("code", ("interact", "InteractiveConsole", "InteractiveInterpreter")),
    *_of("pickle", ("load", "loads", "Unpickler")),
    *_of("marshal", ("load", "loads")),
    *_of("dill", ("load", "loads")),
    *_of("cloudpickle", ("load", "loads")),
    *_of("ctypes", ("CDLL", "PyDLL", "cdll", "pydll", "windll", "pythonapi")),
    "codecs.open",
    "shelve.open",
    "fileinput.input",
    "yaml.unsafe_load",
)

CALLS: Final[dict[str, BlockedRule]] = {
    **dict.fromkeys(_PROCESSES, "process"),
    **dict.fromkeys(_DELETIONS, "deletion"),
    **dict.fromkeys(_RIGHTS, "rights"),
    **dict.fromkeys(_IMPORTS, "import"),
    **dict.fromkeys(_FILES_AND_CODE, "builtin"),
}
"""`{full name: rule}`. `pathlib.Path().unlink` is the method of any path that is made there."""

MODULES: Final = frozenset(name.partition(".")[0] for name in CALLS) | {"sys", "operator"}
"""Modules whose names are followed."""
