"""A shell completes what the command line knows."""

import shutil
import subprocess

import pytest

from coterie.cli import main
from coterie.commands.operations.completion import SHELLS
from coterie.commands.table import VERBS
from coterie.failures import ExitCode


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == ExitCode.DONE
    return capsys.readouterr().out


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_knows_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = script(shell, capsys)
    assert [verb for verb in VERBS if verb not in text] == []
    assert "older-than" in text


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_completes_commands_and_options(capsys: pytest.CaptureFixture[str]) -> None:
    asked = """
COMP_WORDS=(coterie ru); COMP_CWORD=1; _shtab_coterie; echo "${COMPREPLY[@]}"
COMP_WORDS=(coterie runs --st); COMP_CWORD=2; _shtab_coterie; echo "${COMPREPLY[@]}"
COMP_WORDS=(coterie runs --state wai); COMP_CWORD=3; _shtab_coterie; echo "${COMPREPLY[@]}"
"""
    done = subprocess.run(
        ["bash", "-c", script("bash", capsys) + asked], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == ["run runs", "--state", "waiting"], done.stderr
