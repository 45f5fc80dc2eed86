"""`coterie report` writes one file that needs nothing else."""

import os
import re
from argparse import Namespace
from pathlib import Path

from coterie.commands.runs import report
from coterie.failures import ExitCode
from coterie.settings import load
from tests.replay.record import HISTORIES


def test_a_report_of_a_history_is_one_file_that_loads_nothing(tmp_path: Path) -> None:
    source = HISTORIES / "review_loop.0.1.0.json"
    settings = load({}, tmp_path)
    done = report.run(Namespace(run=str(source), compare=None, output="run.html"), settings)
    assert done == ExitCode.DONE
    page = (tmp_path / "run.html").read_text()
    assert "<h2>Decisions</h2>" in page
    assert not re.search(r"(?:src|href|action)=\"(?!#|data:,)", page)
    assert "url(" not in page
    assert os.listdir(tmp_path) == ["run.html"]
