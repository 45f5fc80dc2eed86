"""A run of tests shows its slowest files and levels, and the servers of a set-up that fails.

Its processes share what they import.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.law.sources import ROOT

PLUGINS = (
    *("xdist.plugin", "tests.support.programs.forked_workers"),
    *("tests.support.watching.suite_times", "tests.support.watching.few_reports"),
    "tests.support.watching.server_logs",
)
SERVER = "print('no more memory', flush=True); input()"
WORKS = """
import os
from pathlib import Path
from time import process_time

IMPORTED = os.getpid()

def test_it():
    Path(__file__).with_suffix(".pids").write_text(f"{IMPORTED} {os.getpid()}")
    end = process_time() + 0.2
    while process_time() < end:
        pass
"""
FAILS = f"""
import subprocess, sys
import pytest

@pytest.fixture
def server(tmp_path):
    log = tmp_path / "server.log"
    command = [sys.executable, "-c", {SERVER!r}]
    with log.open("wb") as out:
        running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out)
    while not log.read_text():
        pass
    yield running
    running.kill()
    running.communicate()

@pytest.fixture
def client(server):
    raise ConnectionError("nobody answers")

def test_it(client):
    pass

@pytest.fixture
def leaves_a_mess():
    yield
    raise ValueError("a mess")

def test_another(leaves_a_mess):
    pass
"""


def run(folder: Path, *options: str) -> str:
    plugins = [word for name in PLUGINS for word in ("-p", name)]
    words = [sys.executable, "-m", "pytest", *plugins, "-p", "no:cacheprovider", *options]
    done = subprocess.run(
        [*words, f"--rootdir={folder}", f"--basetemp={folder / 'base'}", str(folder / "tests")],
        cwd=ROOT,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_processes_that_import_once_show_the_times_of_files_and_levels(tmp_path: Path) -> None:
    for name in ("tests/unit/a/test_one.py", "tests/unit/b/test_two.py", "tests/law/test_three.py"):
        file = tmp_path / name
        file.parent.mkdir(parents=True)
        file.write_text(WORKS)
    shown = run(tmp_path, "-n", "2").partition("- times -")[2]
    rows = re.findall(r"^ +([\d.]+) +([\d.]+)  (\S+)$", shown, re.MULTILINE)
    assert {name for _, _, name in rows[:3]} == {
        "tests/law/test_three.py",
        "tests/unit/a/test_one.py",
        "tests/unit/b/test_two.py",
    }
    assert {name for _, _, name in rows[3:]} == {"tests/law", "tests/unit"}
    assert all(float(cpu) > 0 for _, cpu, _ in rows)
    assert "3 passed" in shown
    pids = [file.read_text().split() for file in tmp_path.rglob("*.pids")]
    assert len(pids) == 3
    assert len({imported for imported, _ in pids}) == 1, "each process imported its tests"
    assert pids[0][0] not in {running for _, running in pids}


def test_a_set_up_that_fails_names_its_server_and_the_log(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text(FAILS)
    (tmp_path / "tests" / "test_other.py").write_text("def test_it():\n    pass\n")
    shown = run(tmp_path, "-n", "1")
    report = shown.partition("Servers and their logs")[2]
    assert SERVER in report, shown
    assert "server.log\nno more memory" in report
    assert shown.count("Servers and their logs") == 1
    assert "ValueError: a mess" in shown
    assert "2 passed, 2 errors" in shown
