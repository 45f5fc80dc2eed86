"""A worker that is asked to end does end."""

import asyncio
from datetime import timedelta
from typing import cast

import pytest
from temporalio.worker import Worker

import coterie.worker.workers
from coterie.worker.workers import _serving  # pyright: ignore[reportPrivateUsage]


class Stuck:
    """The engine's worker while a run blocks its thread: it waits for that, for ever."""

    async def __aenter__(self) -> "Stuck":
        return self

    async def __aexit__(self, *why: object) -> None:
        await asyncio.get_running_loop().create_future()


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_run_that_cannot_be_put_out_of_memory_holds_up_no_end(
    workers: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(coterie.worker.workers, "_SHUTDOWN_TIMEOUT", timedelta(seconds=0.01))
    stuck = [cast("Worker", Stuck()) for _ in range(workers)]
    async with asyncio.timeout(30), _serving(stuck, timedelta(seconds=0.01)):
        pass
    assert "could not be evicted from memory" in capsys.readouterr().err
