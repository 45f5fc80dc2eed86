"""A run watched in a terminal: the person sees it live, and is asked."""

import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from coterie.failures import ExitCode
from tests.support.cli import asks, terminal
from tests.support.programs.command_server import command_server
from tests.support.project import BIN, Project


def test_a_person_at_the_terminal_is_asked_and_their_word_is_recorded(desk: Project) -> None:
    with terminal(desk, "run", "article", "--set", "topic=rain", "--id", "asked") as screen:
        screen.wait_for("approve? [y/n]")
        assert "review/sign_off#1" in screen.shown
        assert "Publish It rains." in screen.shown
        assert "verdict: good" in screen.shown
        screen.type("perhaps")
        screen.wait_for("approve? [y/n]")
        screen.type("y")
        screen.wait_for("comment (may be empty):")
        screen.type("Well said.")
        assert screen.ended() == 0, screen.shown[-2000:]
    assert "asked: completed" in screen.shown
    assert "(update): Well said." in screen.shown
    with terminal(desk, "watch", "asked", "--ui") as screen:
        screen.wait_for("the run has ended")
        assert "completed" in screen.shown
        screen.type("q")
        assert screen.ended() == 0, screen.shown[-2000:]
    assert "asked: completed" in screen.shown


def test_a_question_is_withdrawn_when_somebody_else_answers(desk: Project) -> None:
    with terminal(desk, "run", "article", "--set", "topic=rain", "--id", "withdrawn") as screen:
        screen.wait_for("approve? [y/n]")
        assert desk.coterie("approve", "withdrawn", "--by", "ann").returncode == 0
        assert screen.ended() == 0, screen.shown[-2000:]
    assert "review/sign_off#1 was decided elsewhere" in screen.shown
    assert "approved by ann" in screen.shown


async def test_closed_input_leaves_the_decision_for_later(desk: Project) -> None:
    with terminal(desk, "run", "article", "--set", "topic=rain", "--id", "later") as screen:
        screen.wait_for("approve? [y/n]")
        screen.press_ctrl_d()
        screen.wait_for("coterie approve later 'review/sign_off#1'")
        await asks(desk, "later")
        assert desk.coterie("approve", "later").returncode == 0
        assert screen.ended() == 0, screen.shown[-2000:]


def test_ctrl_c_says_what_it_waits_for_and_how_not_to(desk: Project) -> None:
    with terminal(desk, "run", "patience", "--set", "topic=rain", "--id", "live") as screen:
        screen.wait_for("only/slow")
        assert "2 model calls" in screen.shown
        screen.press_ctrl_c()
        screen.wait_for("again to stop")
        screen.press_ctrl_c()
        assert screen.ended() == 130, screen.shown[-2000:]
    assert "coterie run --resume live" in screen.shown
    assert "Traceback" not in screen.shown


RETURNS = (
    "orchestration: {entry_team: t, teams: {t: {tasks: [{name: end, type: return, value: 1}]}}}"
)
FAILS = RETURNS.replace("type: return, value: 1", "type: fail, error: Refused, message: No")


@pytest.mark.parametrize(
    ("plan", "done", "on_a_full_disk"),
    [
        (RETURNS, ExitCode.DONE, ExitCode.OUTPUT_LOST),
        (FAILS, ExitCode.RUN_FAILED, ExitCode.RUN_FAILED),
    ],
)
def test_the_exit_code_says_what_became_of_the_run_however_the_output_is_lost(
    desk: Project, plan: str, done: ExitCode, on_a_full_disk: ExitCode
) -> None:
    (desk.folder / "short.yml").write_text(plan)
    run = ("run", "short.yml", "--id")
    with _nobody_reads() as pipe:
        assert _exit_code(desk, pipe, *run, f"a{done}") == done
        assert _exit_code(desk, pipe, "result", f"a{done}") == done
        assert _exit_code(desk, pipe, "watch", f"a{done}") == ExitCode.READER_LEFT
    with open("/dev/full", "wb") as full:
        assert _exit_code(desk, full.fileno(), *run, f"d{done}") == on_a_full_disk
    line = f"coterie {' '.join(run)}"
    assert _exit_code_in_shell(desk, f"{line} b{done} >&-") == done
    assert _exit_code_in_shell(desk, f"{line} c{done} 2>&-") == done


@contextmanager
def _nobody_reads() -> Generator[int]:
    """The writing end of a pipe whose reader has gone."""
    source, target = os.pipe()
    os.close(source)
    try:
        yield target
    finally:
        os.close(target)


def _exit_code(desk: Project, output: int, *arguments: str) -> int:
    """The exit code of a command with this standard output."""
    with open(os.devnull, "r+b") as nothing:
        files = (nothing.fileno(), output, nothing.fileno())
        command = command_server().begin(arguments, desk.folder, desk.environment, files)
        return command.wait(120)


def _exit_code_in_shell(desk: Project, line: str) -> int:
    """The exit code of a command that starts as a shell starts it."""
    environment = {**desk.environment, "PATH": f"{BIN}:{desk.environment['PATH']}"}
    return subprocess.run(
        ["bash", "-c", line], cwd=desk.folder, env=environment, capture_output=True, check=False
    ).returncode
