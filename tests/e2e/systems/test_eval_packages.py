"""The suites over real packages: planted defects are mended, and the packages' own tests say so."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT
from tests.support.project import project


@pytest.fixture(scope="module")
def suites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the command of the docs writes."""
    folder = tmp_path_factory.mktemp("suites")
    command = [sys.executable, "-m", "evals.packages", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)
    return folder


@pytest.mark.parametrize("suite", ["agent_loop_packages", "development_packages"])
def test_the_script_mends_each_planted_defect(suite: str, suites: Path, tmp_path: Path) -> None:
    with project(tmp_path / "project") as made:
        file = str(suites / f"{suite}.yml")
        done = made.coterie("eval", file, "--variant", "script", "--json", seconds=240)
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
    assert report["failures"] == []
    assert [case["passed"] for case in report["variants"][0]["cases"]] == [1, 1]
