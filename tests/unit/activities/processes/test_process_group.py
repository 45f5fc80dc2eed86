"""A command ends with all its descendants, also when its caller stops waiting."""

import asyncio
import gc
import os
import sys
from asyncio.base_subprocess import BaseSubprocessTransport
from pathlib import Path

import pytest

from coterie.activities.processes.bounded_output import BoundedOutput
from coterie.activities.processes.process_group import run_group

ESCAPE = """
import os, signal, sys, time
reads, writes = os.pipe()
if os.fork() == 0:
    os.setsid()
    for _ in range(int(sys.argv[1])):
        if os.fork():
            os._exit(0)
    print(os.getpid(), flush=True)
    os.write(writes, b"!")
    time.sleep(100)
os.read(reads, 1)
if sys.argv[2] == "stays":
    signal.pause()
"""
"""Leaves a process in a session of its own, which holds the output open.

Arguments: how often it is orphaned, and whether the command itself ends or is cancelled."""


@pytest.mark.skipif(sys.platform != "linux", reason="orphans have no supervisor there")
@pytest.mark.parametrize("orphaned", [0, 1, 2])
@pytest.mark.parametrize("itself", ["ends", "stays"])
@pytest.mark.parametrize("noticed_after", [0, 0.3], ids=["idle", "busy"])
async def test_every_descendant_of_a_command_ends_with_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    orphaned: int,
    itself: str,
    noticed_after: float,
) -> None:
    """A busy machine notices late that the program has ended."""
    notice = BaseSubprocessTransport._process_exited  # pyright: ignore

    def notice_later(transport: BaseSubprocessTransport, code: int) -> None:
        asyncio.get_running_loop().call_later(noticed_after, notice, transport, code)

    monkeypatch.setattr(BaseSubprocessTransport, "_process_exited", notice_later)
    output = BoundedOutput()
    argv = (sys.executable, "-I", "-S", "-c", ESCAPE, str(orphaned), itself)
    command = run_group(argv, cwd=tmp_path, environment={}, seconds=60, output=output)
    running = asyncio.create_task(command)
    if itself == "ends":
        assert (await running).exit_code == 0
    else:
        while not output.total:  # noqa: ASYNC110  # output has no Event
            await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    with pytest.raises(ProcessLookupError):
        os.kill(int(output.text()), 0)


async def test_a_program_that_did_not_start_is_not_reported_to_a_caller_who_has_left(
    tmp_path: Path,
) -> None:
    reported: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    argv, output = ("no-such-program",), BoundedOutput()
    running = run_group(argv, cwd=tmp_path, environment={}, seconds=60, output=output)
    task = asyncio.create_task(running)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    del task, running
    gc.collect()
    await asyncio.sleep(0)
    assert reported == []
