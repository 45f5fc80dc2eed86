"""Tries mutants in copies of the project: a mutant is killed when a test of its line fails."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from enum import Enum
from pathlib import Path

from tests.mutants.mutations import Mutant

COPIED = (
    "dsl",
    "workflows",
    "activities",
    "coterie",
    "config",
    "tests",
    "docs",
    "examples",
    "bench",
)
ROUNDS = (12, 60, 180, 480, 1_000)
"""How many tests of its line a mutant has met after each round that it survives."""
TEST_TIMEOUT = 90
"""Seconds; a test that takes longer fails and ends its round: the mutant hangs."""
SLOW_TEST_TIMEOUT = 5 * TEST_TIMEOUT
"""The same for tests that start commands, workers and servers; a round of them takes longer too."""
ROUND_TIMEOUT = 240
"""Seconds, and as many more as SECONDS_PER_TEST says: hangs outside of tests. A busy machine must
not reach it with tests that pass, since such a round counts as killed."""
SECONDS_PER_TEST = 15


class Verdict(Enum):
    """What the tests made of a mutant."""

    KILLED = "killed"
    SURVIVED = "survived"


def copy_project(root: Path, target: Path) -> None:
    """Copy what tests need, with `shared` beside it as in a checkout."""
    target.mkdir(parents=True)
    for entry in root.iterdir():
        if entry.is_file():
            shutil.copy2(entry, target / entry.name)
        elif entry.name in COPIED:
            shutil.copytree(
                entry, target / entry.name, ignore=shutil.ignore_patterns("__pycache__")
            )
    shared = root.parent / "shared"
    if shared.exists():
        (target.parent / "shared").symlink_to(shared)


def try_mutant(
    mutant: Mutant, tests: Sequence[str], copy: Path, last: Sequence[str] = ()
) -> Verdict:
    """Run the tests of the mutant's line against it, the best first, until one fails.

    Args:
        last: Files of slow tests, for a mutant that survives all others.
    """
    path = copy / mutant.path
    original = path.read_text()
    path.write_text(mutant.applied(original))
    try:
        begin = 0
        for end in ROUNDS:
            chosen = tests[begin:end]
            if chosen and not passes(chosen, copy):
                return Verdict.KILLED
            begin = end
        if last and not passes(last, copy, test_timeout=SLOW_TEST_TIMEOUT):
            return Verdict.KILLED
        return Verdict.SURVIVED
    finally:
        path.write_text(original)


def passes(tests: Sequence[str], copy: Path, *, test_timeout: int = TEST_TIMEOUT) -> bool:
    """Whether these tests pass in a copy, within a time that only a hanging mutant exceeds."""
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--timeout",
        str(test_timeout),
        "--timeout-method",
        "thread",
        "--no-header",
        *tests,
    ]
    pytest = subprocess.Popen(
        command,
        cwd=copy,
        env=environment,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        longest = ROUND_TIMEOUT + SECONDS_PER_TEST * len(tests)
        return pytest.wait(longest * (test_timeout // TEST_TIMEOUT)) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        with suppress(ProcessLookupError):  # with it the servers that a broken-off test left
            os.killpg(pytest.pid, signal.SIGKILL)
        pytest.wait()
