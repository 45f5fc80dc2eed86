"""A short program: what it writes, within bounds, and how it is stopped."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from coterie.activities.processes import short_program
from coterie.activities.processes.process_group import NotStarted
from coterie.activities.processes.short_program import ProgramOutput, ProgramTimeout, run_program
from tests.support.watching.processes import pid_in


async def run(
    script: str, folder: Path, *, maximum: int = 100, given: bytes = b"", seconds: float = 60.0
) -> ProgramOutput:
    return await run_program(
        ("/bin/sh", "-c", script),
        cwd=folder,
        environment={"PATH": os.defpath},
        seconds=seconds,
        maximum=maximum,
        given=given,
    )


@pytest.mark.parametrize(
    ("script", "given", "ended"),
    [
        ("printf out; printf err >&2; exit 3", b"", ProgramOutput(3, b"out", "err", True)),
        ("cat; echo $PATH >&2", b"in", ProgramOutput(0, b"in", f"{os.defpath}\n", True)),
        ("kill -9 $$", b"", ProgramOutput(-9, b"", "", True)),
        ("true", b"x" * 1_000_000, ProgramOutput(0, b"", "", True)),
        ("printf '%0100d' 0", b"", ProgramOutput(0, b"0" * 100, "", True)),
        ("printf '%05000d' 0 >&2", b"", ProgramOutput(0, b"", "0" * 4_000, True)),
        ("printf '\\377' >&2", b"", ProgramOutput(0, b"", "\ufffd", True)),
    ],
)
async def test_a_program_is_known_by_its_end_and_what_it_wrote(
    script: str, given: bytes, ended: ProgramOutput, tmp_path: Path
) -> None:
    assert await run(script, tmp_path, given=given) == ended


async def test_a_program_that_closed_its_output_may_still_read(tmp_path: Path) -> None:
    await run("exec >&- 2>&-; sleep 0.05; cat > copied", tmp_path, given=b"x" * 1_000_000)
    assert (tmp_path / "copied").stat().st_size == 1_000_000


async def test_nothing_waits_for_an_output_that_a_process_elsewhere_holds(tmp_path: Path) -> None:
    tasks = asyncio.all_tasks()
    with pytest.raises(ProgramTimeout):
        await run("setsid sh -c 'echo $$ > pid; exec sleep 20' >&- &", tmp_path, seconds=0.3)
    assert asyncio.all_tasks() == tasks
    if (pid := pid_in(tmp_path / "pid")) is not None:
        os.kill(pid, signal.SIGKILL)


async def test_a_program_that_writes_too_much_is_stopped(tmp_path: Path) -> None:
    ended = await run("yes", tmp_path)
    assert ended == ProgramOutput(-9, b"y\n" * 50, "", complete=False)


TURNS = 200
"""How far a program that floods its output has come, when nobody waits for it any more."""


@pytest.mark.parametrize("script", ["yes", "yes >&2"])
async def test_a_program_may_be_left_at_any_moment(script: str, tmp_path: Path) -> None:
    for turns in range(0, TURNS, 7):
        running = asyncio.create_task(run(script, tmp_path, maximum=1 << 30))
        for _ in range(turns):
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running


async def test_the_end_of_a_program_is_seen_however_much_it_wrote(tmp_path: Path) -> None:
    """Of what nobody reads, asyncio takes in no more than a part."""
    for _ in range(30):
        assert (await run("yes", tmp_path)).exit_code == -signal.SIGKILL


async def test_a_program_that_cannot_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(NotStarted, match="No such file or directory"):
        await run_program(
            ("no-such",), cwd=tmp_path, environment={}, seconds=60, maximum=1, given=b""
        )


LOCKS = """
trap 'rm lock; exit' TERM
touch lock
echo $$ > started
while :; do sleep 0.01; done
"""
IGNORES = """
trap '' TERM
echo $$ > started
while :; do sleep 0.01; done
"""


async def stopped(script: str, folder: Path) -> int:
    """Run a program until it says that it has started, leave it, and return its process id."""
    os.mkfifo(folder / "started")
    running = asyncio.create_task(run(script, folder))
    pid = int(await asyncio.to_thread((folder / "started").read_text))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    return pid


async def test_a_program_that_is_stopped_may_remove_its_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(short_program, "_GRACE", 60.0)
    await stopped(LOCKS, tmp_path)
    assert not (tmp_path / "lock").exists()


async def test_a_program_that_does_not_stop_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(short_program, "_GRACE", 0.01)
    pid = await stopped(IGNORES, tmp_path)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_program_out_of_time_is_stopped(tmp_path: Path) -> None:
    with pytest.raises(ProgramTimeout):
        await run("exec sleep 100", tmp_path, seconds=0.05)
