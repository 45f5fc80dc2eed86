"""Runs tests of teams inside pytest: the same reader, server and runner as `coterie test`."""

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest_asyncio
from temporalio.client import Client

from coterie.settings import load
from coterie.testing.case_report import result_text
from coterie.testing.case_runner import CaseResult, run_cases
from coterie.testing.files.case_reader import TestFile, read_tests
from coterie.testing.simulation.case_server import time_skipping_server

LIMIT = 120.0
"""Seconds that one case may take on a busy machine."""


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def skipping_client() -> AsyncGenerator[Client]:
    """A client of the product's own server, on which each run has a clock that skips time."""
    async with time_skipping_server(load()) as client:
        yield client


def read(file: Path) -> TestFile:
    """A file of tests, read as a command in its folder reads it."""
    return read_tests(load(cwd=file.parent), file)


def written(folder: Path, team: str, tests: str) -> TestFile:
    """A team and its tests, written to a folder."""
    (folder / "made.yml").write_text(team)
    (folder / "made.test.yml").write_text(tests)
    return read(folder / "made.test.yml")


async def results(client: Client, *files: TestFile) -> list[CaseResult]:
    """Every case of the files, run."""
    chosen = [(file, case) for file in files for case in file.cases]
    return [result async for result in run_cases(client, chosen, LIMIT)]


def failures_text(found: Sequence[CaseResult]) -> str:
    """The failed cases as a person reads them; nothing when all is as expected."""
    return "\n".join(result_text(result, trail=True) for result in found if not result.passed)
