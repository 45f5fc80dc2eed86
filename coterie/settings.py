"""Read the environment once; all other code receives these values.

This is the only reader of environment variables. A `.coterie/` folder in the project holds the
embedded server's data, the state needed to resume a run, and error logs.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from coterie.activities.os_errors import reason_of
from coterie.activities.workspace.project_files import private_folder, write_private
from coterie.dsl.visible import is_unicode
from coterie.failures import CommandError

STATE_FOLDER = ".coterie"
STORED = "blobs"
"""Subfolder for large values and conversations of runs on the embedded server."""
OVERRIDE_FILE = "coterie.yml"
"""The project's worker settings, which override every document."""
LISTINGS_FILE = "coterie.tools.json"
"""The recorded tools of the project's MCP servers."""
SYSTEM_FILE = "system_config.yml"
"""Marks a config root: providers, defaults and limits for the documents below it."""

_PROJECT_MARKS = (STATE_FOLDER, OVERRIDE_FILE, SYSTEM_FILE, ".git")
_TRUE = ("1", "true", "yes", "on")
_FALSE = ("", "0", "false", "no", "off")


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Paths of PEM files, for a server that requires certificates."""

    ca: Path | None = None
    """Trusted to sign the server's certificate; None for the system's own."""
    certificate: Path | None = None
    key: Path | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """The environment and the folder of a command."""

    cwd: Path
    project: Path
    """The nearest parent folder with `.coterie`, `coterie.yml`, `system_config.yml` or `.git`; else
    the current one."""
    address: str | None = None
    """`host:port` of a Temporal server; None for the project's embedded one."""
    ui: str | None = None
    """Base URL of that server's UI, for links; the embedded server's is known."""
    namespace: str = "default"
    task_queue: str = "coterie"
    """Where `start` puts runs and `worker` takes them from."""
    api_key: str | None = field(default=None, repr=False)
    tls: bool = False
    tls_files: TlsFiles = TlsFiles()
    config_roots: tuple[Path, ...] = ()
    """Where to look up documents by name, before the shipped ones."""
    storage: str | None = None
    """Storage of large values and conversations: an absolute path, `s3://bucket`, or `none`. None
    means the project's own folder with the embedded server, and no storage with another."""
    color: bool = True
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """For keys that a configuration names, and for the commands that tool functions run."""

    @property
    def state(self) -> Path:
        """The project's `.coterie` folder, which may not exist yet."""
        return self.project / STATE_FOLDER

    def secret(self, name: str) -> str | None:
        """Return the value of an environment variable; None when absent or empty."""
        return self.environment.get(name) or None


def load(environ: Mapping[str, str] | None = None, cwd: Path | None = None) -> Settings:
    """Read the settings.

    Args:
        environ: Default: the process's environment.
        cwd: Default: the current folder.

    Raises:
        CommandError: A variable has an invalid value.
    """
    env = dict(os.environ if environ is None else environ)
    for name, value in env.items():
        if name.startswith("COTERIE_") and not is_unicode(value):
            raise CommandError(f"{name} is {value!a}, which is not UTF-8 text")
    here = (cwd or Path.cwd()).resolve()
    project = find_project(here)
    api_key = env.get("COTERIE_API_KEY") or None
    return Settings(
        cwd=here,
        project=project,
        address=_address(env),
        ui=(env.get("COTERIE_UI") or "").rstrip("/") or None,
        namespace=env.get("COTERIE_NAMESPACE") or "default",
        task_queue=env.get("COTERIE_TASK_QUEUE") or "coterie",
        api_key=api_key,
        tls=_flag(env, "COTERIE_TLS", default=api_key is not None),
        tls_files=_tls_files(env),
        config_roots=_config_roots(env, here, project),
        storage=_storage(env, here),
        color="NO_COLOR" not in env or env["NO_COLOR"] == "",
        environment=env,
    )


def find_project(start: Path) -> Path:
    """Find the nearest folder from `start` upwards that is a project; default: `start`."""
    for folder in (start, *start.parents):
        if any((folder / mark).exists() for mark in _PROJECT_MARKS):
            return folder
    return start


def state_folder(settings: Settings) -> Path:
    """Return the `.coterie` folder; create it if missing, with its own `.gitignore`."""
    folder = settings.state
    try:
        private_folder(folder)
        ignore = folder / ".gitignore"
        if not ignore.exists():
            write_private(ignore, "*\n")
    except OSError as error:
        raise CommandError(
            f"could not write the folder {folder}: {reason_of(error)}; "
            "run coterie in a folder that you may write to"
        ) from None
    return folder


def _address(env: Mapping[str, str]) -> str | None:
    address = env.get("COTERIE_ADDRESS") or None
    if address is None:
        return None
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise CommandError(
            f"COTERIE_ADDRESS is {address!r}; it must be host:port, such as localhost:7233"
        )
    return address


def _config_roots(env: Mapping[str, str], cwd: Path, project: Path) -> tuple[Path, ...]:
    setting = env.get("COTERIE_CONFIG")
    if not setting:
        own = project / "config"
        return (own,) if own.is_dir() else ()
    roots = tuple((cwd / part).resolve() for part in setting.split(os.pathsep) if part)
    for root in roots:
        if not root.is_dir():
            raise CommandError(f"COTERIE_CONFIG names {root}, which is not a folder")
    return roots


def _storage(env: Mapping[str, str], cwd: Path) -> str | None:
    storage = env.get("COTERIE_STORAGE") or None
    if storage is None or storage == "none":
        return storage
    if "://" not in storage:
        return str((cwd / storage).resolve())
    if re.fullmatch(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/?", storage) is None:
        raise CommandError(
            f"COTERIE_STORAGE is {storage!r}; allowed are a folder, s3://bucket, and none"
        )
    return storage.rstrip("/")


def _tls_files(env: Mapping[str, str]) -> TlsFiles:
    ca, certificate, key = (
        Path(value) if (value := env.get(f"COTERIE_TLS_{name}")) else None
        for name in ("CA", "CERT", "KEY")
    )
    if (certificate is None) != (key is None):
        raise CommandError("COTERIE_TLS_CERT and COTERIE_TLS_KEY belong together; set both")
    return TlsFiles(ca, certificate, key)


def _flag(env: Mapping[str, str], name: str, *, default: bool) -> bool:
    value = env.get(name)
    if value is None:
        return default
    if value.lower() in _TRUE:
        return True
    if value.lower() in _FALSE:
        return False
    raise CommandError(f"{name} is {value!r}; allowed are true and false")
