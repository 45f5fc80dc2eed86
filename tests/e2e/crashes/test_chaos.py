"""Kills at random moments, and at the worst one: what is promised when things die holds.

`make chaos ARGS="--only runs --runs 200"` is the large version of the first test, and
`make chaos ARGS="--only tools"` that of the last.
"""

import json
from pathlib import Path

import pytest

from coterie.runs.ends.end_words import incomplete_reason
from coterie.runs.run_client import Run
from tests.chaos.book import read_releases
from tests.chaos.ground import SAMPLE
from tests.chaos.play import play
from tests.chaos.siege import Terms
from tests.chaos.tool_runs.planned_runs import ONCE, Plan, PlannedCall, Strike
from tests.chaos.tool_runs.tool_play import play_tools
from tests.chaos.tool_runs.tool_siege import ToolTerms
from tests.support.project import project, until

RELEASE = """
import os, sys, time
from pathlib import Path

call = os.environ["COTERIE_CALL"]
run, _, key = call.split("/")
ledger, begun = Path("ledger.txt"), Path(f"{run}-{key}")
if "--verify" in sys.argv:
    sys.exit(0 if ledger.exists() and call in ledger.read_text().splitlines() else 1)
first = not begun.exists()
if run == "lost-before" and first:
    begun.touch()
    time.sleep(600)
with ledger.open("a") as file:
    file.write(call + "\\n")
if first:
    begun.touch()
    time.sleep(600)
"""


@pytest.mark.timeout(240)
async def test_under_random_kills_every_run_comes_to_its_end_and_nothing_paid_is_repeated(
    tmp_path: Path,
) -> None:
    shown: list[str] = []
    terms = Terms(runs=6, kills=3, gap=(1.0, 4.0), limit=200)
    report = await play(tmp_path / "project", 11, terms, shown.append)
    assert report.wrong == [], "\n".join([*shown, *report.lines()])
    assert report.finished == report.runs == 7
    assert report.calls == 7 * 17


@pytest.mark.timeout(240)
async def test_a_command_killed_before_or_after_it_happened_happens_once(tmp_path: Path) -> None:
    with project(tmp_path / "shop", sample=SAMPLE) as shop:
        (shop.folder / "release.py").write_text(RELEASE)
        assert shop.coterie("server").returncode == 0
        worker = shop.begin("worker")
        runs = ("lost-before", "lost-after")
        for run in runs:
            begun = shop.coterie("start", "release", "--id", run)
            assert begun.returncode == 0, begun.stderr
        for run in runs:
            until((shop.folder / f"{run}-release").exists, f"the release of {run}")
        worker.kill()
        worker.wait()
        shop.begin("worker")
        client = await shop.client()
        became: dict[str, list[str]] = {}
        for run in runs:
            end = await Run(client, run).end()
            assert end.completed, incomplete_reason(end)
            trail = await Run(client, run).trail()
            [caught] = [one for one in trail if one.status == "caught"]
            assert "OutcomeUnknown" in caught.because
            became[run] = [one.step or "" for one in trail if one.status == "success"]
        assert any(step.endswith("/missed") for step in became["lost-before"])
        assert any(step.endswith("/seen") for step in became["lost-after"])
        ledger = read_releases(shop.folder / "ledger.txt")
        assert ledger == {"lost-after/release": 1, "lost-before/release": 1}


@pytest.mark.timeout(240)
async def test_calls_of_tools_are_made_once_when_a_worker_and_an_mcp_server_are_killed(
    tmp_path: Path,
) -> None:
    tools = ["send", "helper", "helper", "pay", "stock", "label"]
    calls = [
        PlannedCall(tool, number, 15 if tool in ONCE else 0.1, number, unsure=False)
        for number, tool in enumerate(tools, 1)
    ]
    strikes = (
        Strike("r0000", calls[0], 0.1, "mcp", 0.0),
        Strike("r0000", calls[3], 0.1, "worker", 0.0),
    )
    plan = Plan(((tuple(calls[:2]), tuple(calls[2:])),), ("r0000",), strikes)
    shown: list[str] = []
    terms = ToolTerms(limit=200, undisturbed=False, workers=1)
    report = await play_tools(tmp_path / "project", plan, terms, shown.append)
    assert report.wrong == [], "\n".join([*shown, *report.lines()])
    assert (report.finished, report.unknown, report.repeated) == (1, 2, 2)
    kept = json.loads(report.results["r0000"])["context"]["kept"]
    assert kept == {
        "WHO/01": "receipt of WHO/01",
        "WHO/02": '{"text":"question 1: 4"}',
        "WHO/03": '{"text":"question 2: 9"}',
        "WHO/04": "receipt of WHO/04",
        "WHO/05": '{"result":1005}',
        "WHO/06": "WHO/06 has a label",
    }
