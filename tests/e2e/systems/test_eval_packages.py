"""The suites over real packages: planted defects are mended, and the packages' own tests say so."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.places import ROOT
from tests.support.project import project


@pytest.mark.parametrize("suite", ["agent_loop_packages", "development_packages"])
def test_the_script_mends_each_planted_defect(suite: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "evals", tmp_path / "evals")
    with project(tmp_path / "project") as made:
        file = str(tmp_path / "evals" / f"{suite}.yml")
        done = made.coterie("eval", file, "--variant", "script", "--json", seconds=240)
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
    assert report["failures"] == []
    assert [case["passed"] for case in report["variants"][0]["cases"]] == [1, 1]
