"""One time-skipping server for all runs of this folder; they take turns, for time is shared."""

from collections.abc import AsyncGenerator

import pytest
from temporalio.testing import WorkflowEnvironment

from tests.support.engine import time_skipping


@pytest.fixture(scope="session")
async def env() -> AsyncGenerator[WorkflowEnvironment]:
    async with time_skipping() as made:
        yield made
