"""Servers of Temporal for tests. A busy machine may need more than the SDK's 5 s to start one."""

import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from temporalio.testing import WorkflowEnvironment

from coterie.storage.wire import data_converter
from tests.support.project import BIN

IDENTITY = "worker"
"""Of the clients and workers of tests: histories name no machine."""
_STARTUP = timedelta(minutes=1)


@asynccontextmanager
async def dev_server(
    *settings: str, log_level: str = "warn", identity: str | None = IDENTITY
) -> AsyncGenerator[WorkflowEnvironment]:
    """Start the real server, with settings `KEY=VALUE` of its dynamic configuration.

    Without an identity, its client has the SDK's own: process and host.
    """
    start: Any = WorkflowEnvironment.start_local  # pyright: ignore
    async with await start(
        dev_server_existing_path=str(BIN / "temporal"),
        dev_server_extra_args=[
            word for setting in settings for word in ("--dynamic-config-value", setting)
        ],
        dev_server_log_level=log_level,
        dev_server_startup_timeout=_STARTUP,
        data_converter=data_converter,
        identity=identity,
    ) as env:
        yield env


@asynccontextmanager
async def suggesting_after(events: int) -> AsyncGenerator[WorkflowEnvironment]:
    """Start the real server, which suggests to continue as new after so many events."""
    async with dev_server(f"limit.historyCount.suggestContinueAsNew={events}") as env:
        yield env


@asynccontextmanager
async def time_skipping() -> AsyncGenerator[WorkflowEnvironment]:
    """Start the server that skips time; one workflow at a time, for time is shared."""
    program = shutil.which("temporal-test-server", path=str(BIN))
    assert program, "the development environment carries temporal-test-server"
    async with await WorkflowEnvironment.start_time_skipping(
        test_server_existing_path=program,
        test_server_startup_timeout=_STARTUP,
        data_converter=data_converter,
        identity=IDENTITY,
    ) as env:
        yield env
