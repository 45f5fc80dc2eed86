"""A plugin of pytest: the end of a run shows its slowest files, and the time of each level.

Each test takes seconds of the clock, in which it also waits, and CPU seconds of its process and of
the programs that it waited for. The processes of pytest-xdist send both with their reports.
"""

import os
from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

import pytest

SLOWEST = 20
"""How many files are shown."""
_CPU = "cpu_seconds"
_LITTLE = 0.02
"""Seconds of a set-up or teardown that count with the next test's."""


class _Times(NamedTuple):
    seconds: float = 0.0
    cpu: float = 0.0

    def __add__(self, other: object) -> "_Times":
        assert isinstance(other, _Times)
        return _Times(self.seconds + other.seconds, self.cpu + other.cpu)


class SuiteTimes:
    """Measures the tests of this process, and sums up the reports of all."""

    def __init__(self) -> None:
        self._seen = _cpu()
        self._files: defaultdict[str, _Times] = defaultdict(_Times)

    def pytest_collection_finish(self) -> None:
        """Count from here: no test causes what the imports of all take."""
        self._seen = _cpu()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Note the CPU seconds since the last note of this process."""
        report = yield
        now = _cpu()
        if report.when == "call" or max(now - self._seen, report.duration) > _LITTLE:
            vars(report)[_CPU] = now - self._seen  # xdist sends each attribute of a report
            self._seen = now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a set-up, a test, or its teardown."""
        file, _, _ = report.nodeid.partition("::")
        self._files[file] += _Times(report.duration, vars(report).get(_CPU, 0.0))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the times, where there are several files."""
        if len(self._files) < 2:
            return
        terminalreporter.section("times", "-")
        levels: defaultdict[str, _Times] = defaultdict(_Times)
        for file, times in self._files.items():
            levels[_level(file)] += times
        terminalreporter.write_line("seconds      CPU")
        for name, times in [*_slowest(self._files.items())[:SLOWEST], *_slowest(levels.items())]:
            terminalreporter.write_line(f"{times.seconds:7.1f}  {times.cpu:7.1f}  {name}")


def is_noted(report: Mapping[str, object]) -> bool:
    """Whether a report as it is sent has a time that counts."""
    return _CPU in report


def pytest_configure(config: pytest.Config) -> None:
    """Measure in each process of a run."""
    config.pluginmanager.register(SuiteTimes(), "suite-times")


def _cpu() -> float:
    """Return the CPU seconds of this process and of those it has waited for."""
    user, system, children_user, children_system, _ = os.times()
    return user + system + children_user + children_system


def _level(file: str) -> str:
    """Return the folder below `tests`, or the first one elsewhere: `tests/unit`."""
    return "/".join(PurePosixPath(file).parts[:2][: len(PurePosixPath(file).parts) - 1]) or "."


def _slowest(times: Iterable[tuple[str, _Times]]) -> list[tuple[str, _Times]]:
    return sorted(times, key=lambda one: one[1].seconds, reverse=True)
