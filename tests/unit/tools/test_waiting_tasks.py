"""A test that hangs fails with the lines at which its tasks wait."""

import os
import subprocess
import sys
from pathlib import Path

from tests.law.sources import ROOT

PLUGINS = (
    *("-p", "pytest_asyncio.plugin", "-p", "pytest_timeout"),
    *("-p", "tests.support.watching.waiting_tasks", "-p", "no:cacheprovider"),
)
HANGS = """
import asyncio

async def waits_for_nothing():
    await asyncio.Event().wait()

async def beside():
    await asyncio.get_running_loop().create_future()

async def test_hangs():
    other = asyncio.create_task(beside(), name="the other")
    await waits_for_nothing()
"""


def test_a_test_that_hangs_names_the_lines_at_which_its_tasks_wait(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(HANGS)
    words = [sys.executable, "-m", "pytest", *PLUGINS, "--timeout", "1", "--asyncio-mode", "auto"]
    done = subprocess.run(
        [*words, f"--rootdir={tmp_path}", str(tmp_path / "test_it.py")],
        cwd=ROOT,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    report = done.stdout.partition("Tasks that wait")[2]
    assert f"{tmp_path}/test_it.py:5 in waits_for_nothing" in report
    assert f"the other\n  {tmp_path}/test_it.py:8 in beside" in report


def test_a_test_that_fails_otherwise_tells_of_no_tasks(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("async def test_fails():\n    assert 1 == 2\n")
    words = [sys.executable, "-m", "pytest", *PLUGINS, "--asyncio-mode", "auto"]
    done = subprocess.run(
        [*words, f"--rootdir={tmp_path}", str(tmp_path / "test_it.py")],
        cwd=ROOT,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Tasks that wait" not in done.stdout
