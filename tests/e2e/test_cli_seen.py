"""A run is seen by whoever asks the command line: why it went where it went, without a worker."""

import json

from tests.support.project import Project


def test_a_run_that_ended_tells_why_when_no_worker_is_left(desk: Project) -> None:
    assert desk.coterie("run", "chore", "--id", "explained").returncode == 0
    short = desk.coterie("why", "explained")
    assert short.returncode == 0, short.stderr
    assert "only#1 -> the end, because the team has no routing" in short.stdout
    assert "coterie why explained only#1" in short.stdout
    whole = desk.coterie("why", "explained", "only#1")
    assert "came here at" in whole.stdout
    assert "only#1/mark: success" in whole.stdout
    told = json.loads(desk.coterie("why", "explained", "only", "--json").stdout)
    assert [visit["team"] for visit in told["visits"]] == ["only"]
    wrong = desk.coterie("why", "explained", "onyl#1")
    assert wrong.returncode == 2
    assert wrong.stderr == "coterie: the run 'explained' has no visit 'onyl#1'; it has: only#1\n"
