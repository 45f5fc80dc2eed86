"""A command whose terminal, pipe or disk no longer takes its output ends with its own exit code."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from coterie.commands.table import VERBS
from coterie.failures import ExitCode
from tests.support.places import ROOT

needs_full = pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="there is no device that is full"
)


@needs_full
def test_every_command_keeps_its_exit_code_when_a_stream_is_lost() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.programs.commands_without_streams"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    codes = json.loads(done.stdout.splitlines()[-1])
    helps = {
        f"{verb} --help: {loss} {stream}": (
            ExitCode.OUTPUT_LOST if (loss, stream) == ("full", 1) else ExitCode.DONE
        )
        for verb in VERBS
        for loss in ("closed", "without reader", "full")
        for stream in (1, 2)
    }
    refusals = {
        f"validate absent.yml: {loss} {stream}": ExitCode.CALL_WRONG
        for loss in ("closed", "without reader", "full")
        for stream in (1, 2)
    }
    assert codes == {**helps, **refusals}
    assert "Traceback" not in done.stderr
    lost = "coterie: could not write to standard output: the disk is full"
    assert done.stderr.count(lost) == len(VERBS) + 1
