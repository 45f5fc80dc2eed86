"""`coterie eval`: trials are durable runs, and a repeated command runs only what is missing."""

import json

from tests.support.project import Project
from tests.unit.coterie.evals.suites import SUITE, TEAM


def run_ids(desk: Project) -> list[str]:
    lines = desk.coterie("runs").stdout.splitlines()
    return [line.split()[0] for line in lines if line.startswith("eval-sums-")]


def test_a_suite_runs_once_grades_again_and_is_compared_with_its_baseline(desk: Project) -> None:
    (desk.folder / "add.yml").write_text(TEAM)
    suite = desk.folder / "sums.yml"
    suite.write_text(SUITE.replace("repeats: 3", "repeats: 2"))
    first = desk.coterie("eval", "sums.yml", "--save-baseline", "before.json", "--json")
    assert first.returncode == 0, first.stderr
    assert first.stderr.count("ok   default / ") == 4
    assert json.loads(first.stdout)["variants"][0]["total"]["passed"] == 4
    runs = run_ids(desk)
    assert len(runs) == 4

    again = desk.coterie("eval", "sums.yml", "--baseline", "before.json", "--html", "sums.html")
    assert again.returncode == 0, again.stderr
    assert "ok   default / " not in again.stderr
    assert "large" in (desk.folder / "sums.html").read_text()

    suite.write_text(suite.read_text().replace("expected: 101", "expected: 102"))
    graded = desk.coterie("eval", "sums.yml")
    assert "FAIL default / large" in graded.stderr
    assert run_ids(desk) == runs
