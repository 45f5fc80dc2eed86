"""Fixtures that tests of several folders use, and how much the property tests try."""

import gc
import logging
import signal
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, settings
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner

from coterie.logs import VisibleFormatter
from tests.support.cli import DESK
from tests.support.project import Project, project
from tests.support.servers.model_server import model_server, model_server_process
from tests.support.servers.temporal_server import time_skipping
from tests.support.team_tests import skipping_client

pytest_plugins = (
    "tests.support.programs.forked_workers",
    "tests.support.watching.server_logs",
    "tests.support.watching.suite_times",
    "tests.support.watching.few_reports",  # after the times, which it asks
    "tests.support.watching.waiting_tasks",
)

__all__ = ["env", "model_server", "model_server_process", "skipping_client"]

# A shell has its background jobs ignore Ctrl-C, and they hand that on to every command they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The suite keeps much and frees little: to look through all of it after each 700 objects took a
# sixth of its time. What no reference keeps alive still goes, only later.
gc.set_threshold(50_000, 20, 20)


def pytest_collection_finish() -> None:
    """Have the collector pass over the imported modules and the collected tests from now on."""
    gc.freeze()


WAITING = ("tests/e2e", "tests/activity")
"""Tests that start programs, and wait for them half of the time."""
SPREAD = 0.7
"""The part of the other files beside which they run: none of them shall be the last."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where several processes share the files, mix those that wait with those that work."""
    if not hasattr(config, "workerinput"):
        return
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    waiting = [
        file for file in files if file.relative_to(config.rootpath).as_posix().startswith(WAITING)
    ]
    working = [file for file in files if file not in set(waiting)]
    beside = [number * SPREAD * len(working) / len(waiting) for number in range(len(waiting))]
    places = [*zip(beside, waiting, strict=True), *enumerate(working)]
    places.sort(key=lambda place: place[0])
    items[:] = [item for _, file in places for item in files[file]]


# Time is never asserted, and a test says the same of the same code; to look for more:
# pytest --hypothesis-profile=explore
# What Hypothesis says of a strategy depends on the speed of the machine, and on which examples it
# tries: those depend on the constants of the modules that are loaded. `explore` still says it.
settings.register_profile(
    "house",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
    ],
)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile("house")


PATIENCE = 60
"""Seconds that a workflow may keep its thread here."""


@pytest.fixture(scope="session", autouse=True)
def patient() -> Iterator[None]:
    """Let no run of a bare runner of Temporal's SDK break down because the machine is busy.

    Our own has a limit of CPU time (`coterie/runtime/task_limit.py`).
    """
    with pytest.MonkeyPatch.context() as patched:
        for runner in (UnsandboxedWorkflowRunner, SandboxedWorkflowRunner):
            patched.setattr(runner, "max_task_seconds", PATIENCE, raising=False)
        yield


@pytest.fixture(autouse=True)
def own_logs() -> Iterator[None]:
    """Take back what a command in this process changes of the logs: other tests read them."""
    root, ours = logging.getLogger(), logging.getLogger("coterie")
    levels, earlier = (root.level, ours.level), set(root.handlers)
    yield
    root.setLevel(levels[0])
    ours.setLevel(levels[1])
    for handler in [one for one in root.handlers if one not in earlier]:
        if isinstance(handler.formatter, VisibleFormatter):
            root.removeHandler(handler)
            handler.close()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def env() -> AsyncGenerator[WorkflowEnvironment]:
    """The time-skipping server of a file; one workflow at a time, for its time is shared.

    A run that is terminated in the middle of a workflow task stops the server's time for good, so
    no file can hold up another one.
    """
    async with time_skipping() as environment:
        yield environment


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project with small teams and one embedded server for all tests of the command line."""
    with project(tmp_path_factory.mktemp("front") / "desk", sample=DESK) as made:
        assert made.coterie("server").returncode == 0
        yield made


@pytest.fixture
def quiet_desk(tmp_path: Path) -> Iterator[Project]:
    """The same project without a server, for what needs none or one of its own."""
    with project(tmp_path / "desk", sample=DESK) as made:
        yield made
