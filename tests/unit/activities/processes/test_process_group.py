"""A command ends, whatever outlives it, and whoever stops waiting for it."""

import asyncio
import gc
import os
import signal
import sys
from asyncio.base_subprocess import BaseSubprocessTransport
from pathlib import Path

import pytest

from activities.processes import process_group
from activities.processes.bounded_output import BoundedOutput
from activities.processes.process_group import run_group

ESCAPE = """
import os, time
reads, writes = os.pipe()
if os.fork() == 0:
    os.setsid()
    print(os.getpid(), flush=True)
    os.write(writes, b"!")
    time.sleep(100)
os.read(reads, 1)
"""
"""Leaves a process in a session of its own, which holds the output open."""


@pytest.mark.parametrize("noticed_after", [0, 0.5], ids=["idle", "busy"])
async def test_a_command_ends_although_a_process_that_escaped_holds_its_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noticed_after: float
) -> None:
    """A busy machine notices late that the program has ended."""
    notice = BaseSubprocessTransport._process_exited  # pyright: ignore

    def notice_later(transport: BaseSubprocessTransport, code: int) -> None:
        asyncio.get_running_loop().call_later(noticed_after, notice, transport, code)

    monkeypatch.setattr(BaseSubprocessTransport, "_process_exited", notice_later)
    monkeypatch.setattr(process_group, "_DRAIN", 0.01)
    output = BoundedOutput()
    argv = (sys.executable, "-I", "-S", "-c", ESCAPE)
    running = run_group(argv, cwd=tmp_path, environment={}, seconds=60, output=output)
    ended = await asyncio.wait_for(running, timeout=60)
    os.kill(int(output.text()), signal.SIGKILL)
    assert (ended.exit_code, ended.timed_out) == (0, False)


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
