"""A project as a user has it: a folder, the real CLI, a real worker, the embedded server."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar, cast

import yaml
from temporalio.client import Client, WorkflowHistory

from coterie.dsl.model.vendors.vendors import VENDORS
from coterie.dsl.values import Json
from coterie.storage.wire import data_converter
from tests.support.places import ROOT
from tests.support.programs.command_server import (
    PROGRAM,
    CommandServer,
    Running,
    command_server,
)

SAMPLE = ROOT / "examples" / "invoicing"
BIN = Path(sys.executable).parent
VENDOR_PREFIXES = tuple(vendor.key_env.removesuffix("API_KEY") for vendor in VENDORS.values())
"""`ANTHROPIC_` and others: keys, addresses and options, which no test takes from outside."""
T = TypeVar("T")


class Project:
    """One folder with a copy of a sample project, and the programs that work in it."""

    def __init__(
        self, folder: Path, environment: Mapping[str, str] | None = None, sample: Path = SAMPLE
    ) -> None:
        shutil.copytree(sample, folder, ignore=shutil.ignore_patterns(".coterie", "__pycache__"))
        self.folder = folder
        inherited = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("COTERIE_", "TEMPORAL_", *VENDOR_PREFIXES))
            and key != "PYTHONDONTWRITEBYTECODE"  # it doubles the time of every command
        }
        # `{python}` of its commands: the tests' own environment, which has pytest.
        active = {"VIRTUAL_ENV": sys.prefix}
        self.environment = {**inherited, **active, **(environment or {})}
        self._processes: list[Running] = []

    def configure(self, **sections: object) -> None:
        """Lay sections over the project's own `coterie.yml`, which the worker trusts.

        Its files stay trusted, so that no run waits for a person because of what it reads.
        """
        file = self.folder / "coterie.yml"
        written = cast("dict[str, object]", yaml.safe_load(file.read_text()))
        if "worker" in sections:
            worker = cast("dict[str, object]", sections["worker"])
            sections["worker"] = {"trusted_paths": ["**"], **worker}
        file.write_text(yaml.safe_dump({**written, **sections}))

    def coterie(self, *arguments: str, seconds: float = 120) -> "subprocess.CompletedProcess[str]":
        """Run a command to its end, without a terminal."""
        if CommandServer.takes(self.environment):
            return command_server().run(arguments, self.folder, self.environment, seconds)
        return subprocess.run(
            [PROGRAM, *arguments],
            cwd=self.folder,
            env=self.environment,
            text=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )

    def temporal(self, *arguments: str, seconds: float = 60) -> str:
        """Run the plain `temporal` CLI, which knows nothing of ours."""
        done = subprocess.run(
            [BIN / "temporal", *arguments, "--address", self.address],
            cwd=self.folder,
            env=self.environment,
            text=True,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    @property
    def server(self) -> Json:
        """What the embedded server has written down of itself."""
        return cast("Json", json.loads((self.folder / ".coterie" / "server.json").read_text()))

    @property
    def address(self) -> str:
        """Where the embedded server listens."""
        return f"127.0.0.1:{self.server['port']}"

    def begin(self, *arguments: str, cold: bool = False) -> Running:
        """Start a command that goes on; its output is kept in `<command>.log`.

        Args:
            arguments: What follows `coterie`.
            cold: Whether it starts as a shell starts it, and imports everything anew.
        """
        environment = self.environment
        with (
            (self.folder / f"{arguments[0]}.log").open("ab") as log,
            open(os.devnull, "rb") as none,
        ):
            if cold or not CommandServer.takes(environment):
                words = [PROGRAM, *arguments]
                process: Running = subprocess.Popen(
                    words, cwd=self.folder, env=environment, stdin=none, stdout=log, stderr=log
                )
            else:
                files = (none.fileno(), log.fileno(), log.fileno())
                process = command_server().begin(arguments, self.folder, environment, files)
        self._processes.append(process)
        return process

    def log(self, command: str) -> str:
        """What a begun command has printed so far."""
        return (self.folder / f"{command}.log").read_text()

    def failed(self) -> bool:
        """Whether the command begun last ended with a mistake or a bug: nobody need wait for it."""
        return bool(self._processes) and self._processes[-1].poll() in (2, 3)

    def logs(self) -> str:
        """The end of what all its programs have printed, for a failure that tells nothing."""
        files = [*self.folder.glob("*.log"), *self.folder.glob(".coterie/*.log")]
        return "\n".join(f"{file.name}: {file.read_text()[-3000:]}" for file in sorted(files))

    def kill_server(self) -> None:
        """`kill -9` of the embedded server."""
        os.kill(int(cast("int", self.server["pid"])), signal.SIGKILL)

    async def client(self) -> Client:
        """A client of the embedded server, which may just be coming back."""
        end = time.monotonic() + 90
        while True:
            try:
                return await Client.connect(self.address, data_converter=data_converter)
            except RuntimeError:
                assert time.monotonic() < end, "no server answers"
                await asyncio.sleep(0.1)  # between two tries

    async def history(self, run: str) -> WorkflowHistory:
        """The whole history of a run."""
        return await (await self.client()).get_workflow_handle(run).fetch_history()

    def close(self) -> None:
        """Leave nothing running."""
        for process in self._processes:
            process.kill()
            process.wait()
        if (self.folder / ".coterie" / "server.json").exists():
            self.coterie("server", "--stop")


@contextmanager
def project(
    folder: Path, environment: Mapping[str, str] | None = None, sample: Path = SAMPLE
) -> Generator[Project]:
    """A project, and nothing of it left running afterwards."""
    made = Project(folder, environment, sample)
    try:
        yield made
    finally:
        made.close()


def until(ask: Callable[[], T | None], what: str, seconds: float = 60) -> T:
    """Ask again and again until there is an answer."""
    end = time.monotonic() + seconds
    while True:
        answer = ask()
        if answer:
            return answer
        assert time.monotonic() < end, f"{what} did not come about within {seconds:g} s"
        time.sleep(0.05)  # between two looks, not instead of one
