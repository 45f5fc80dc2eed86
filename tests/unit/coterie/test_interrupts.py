"""Ctrl-C ends a command in order, a second one its cleaning up, whatever does not want to end."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import coterie.cli
import coterie.interrupts
from coterie.commands.parser import CommandModule
from coterie.interrupts import run_async


@pytest.fixture(autouse=True)
def hearing_hangups() -> Iterator[None]:
    """Under `nohup`, processes inherit that SIGHUP is ignored, and Coterie keeps to it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def interrupt(number: signal.Signals = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_cancels_and_leaves_time_to_clean_up(number: signal.Signals) -> None:
    seen: list[str] = []

    async def command() -> None:
        try:
            interrupt(number)
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(0.01)
            seen.append("cleaned up")
            raise

    with pytest.raises(KeyboardInterrupt):
        run_async(command())
    assert seen == ["cleaned up"]


def test_the_second_cancels_the_cleaning_up() -> None:
    seen: list[str] = []

    async def command() -> None:
        try:
            interrupt()
            await asyncio.sleep(60)
        finally:
            interrupt()
            try:
                await asyncio.sleep(60)
            finally:
                seen.append("cut")

    with pytest.raises(KeyboardInterrupt):
        run_async(command())
    assert seen == ["cut"]


def test_interrupt_leaves_a_task_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coterie.interrupts, "_LAST_SECONDS", 0.05)
    left: list[asyncio.Task[None]] = []

    async def stubborn() -> None:
        while True:
            with suppress(asyncio.CancelledError):
                await asyncio.get_running_loop().create_future()

    async def command() -> str:
        left.append(asyncio.create_task(stubborn()))
        await asyncio.sleep(0)
        return "done"

    assert run_async(command()) == "done"


def test_result_of_a_shielded_task_counts_after_an_interrupt() -> None:
    async def command() -> str:
        with suppress(asyncio.CancelledError):
            interrupt()
            await asyncio.sleep(60)
        return "done"

    assert run_async(command()) == "done"


def test_an_error_comes_through() -> None:
    async def command() -> None:
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        run_async(command())


def test_process_that_ignores_sigint_is_not_interrupted() -> None:
    """As a shell has its jobs in the background do."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)

    async def command() -> str:
        interrupt()
        await asyncio.sleep(0.01)
        return "done"

    try:
        assert run_async(command()) == "done"
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_eval_says_what_happened_when_it_ends_before_its_suite_is_read(
    tmp_path: Path, number: signal.Signals
) -> None:
    suite = tmp_path / "a suite.yml"
    os.mkfifo(suite)
    command = [Path(sys.executable).parent / "coterie", "eval", suite.name]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # a shell may ignore it for us
    )
    with suite.open("w"):  # opens when the command does
        process.send_signal(number)
    # Closed: a signal that comes just before the command reads would not end its reading.
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert "stopped before any trial; to run the suite, repeat: coterie eval 'a suite.yml'" in said


def test_a_command_that_is_interrupted_while_it_loads_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def load(verb: str) -> CommandModule:
        raise KeyboardInterrupt

    monkeypatch.setattr(coterie.cli, "load_command", load)
    assert coterie.cli.main(["plan", "chore"]) == 130
    assert "interrupted before the command began; nothing was done" in capsys.readouterr().err


def test_the_handlers_of_before_hold_again_after_a_command_s_coroutine() -> None:
    async def command() -> None:
        await asyncio.sleep(0)

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        run_async(command())
        assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGTERM, before)
