"""A pytest plugin that records which test executes which line: `-p tests.mutants.observer`.

The coverage data goes to the file that MUTANTS_COVERAGE names, one context per test. The ids of
tests that fail go to the same name with `.failed` added: they can judge no mutant.
"""

import os
from collections.abc import Generator
from pathlib import Path

import coverage
import pytest

ROOMS = ("dsl", "workflows", "activities", "coterie")
_FILE = os.environ["MUTANTS_COVERAGE"]
_COVERAGE = coverage.Coverage(
    data_file=_FILE, data_suffix=True, source=ROOMS, branch=False, config_file=False
)


def pytest_configure(config: pytest.Config) -> None:
    """Begin before any test module is imported; the process that hands out tests runs none."""
    if hasattr(config, "workerinput"):
        _COVERAGE.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Charge what runs now to this test."""
    _COVERAGE.switch_context(item.nodeid)
    result = yield
    _COVERAGE.switch_context("")
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember each test that does not pass."""
    if report.failed:
        with Path(f"{_FILE}.failed").open("a") as file:
            file.write(f"{report.nodeid}\n")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Keep what was seen."""
    if hasattr(config, "workerinput"):
        _COVERAGE.stop()
        _COVERAGE.save()
