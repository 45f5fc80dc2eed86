"""The systems come to the same end when what serves them is killed.

`make chaos ARGS="--only router"` and `make chaos ARGS="--only debug"` are the large versions.
"""

from pathlib import Path

import pytest

from tests.chaos.debug_runs.debug_play import play_debug
from tests.chaos.router_runs.router_plan import RouterPlan
from tests.chaos.router_runs.router_play import play_router


@pytest.mark.timeout(420)
async def test_a_session_asks_and_answers_the_same_when_what_serves_it_dies_between_calls_and_turns(
    tmp_path: Path,
) -> None:
    shown: list[str] = []
    report = await play_router(tmp_path / "project", RouterPlan.of(3, 2), shown.append)
    assert report.wrong == [], "\n".join([*shown, *report.lines()])
    assert (len(report.struck), report.turns) == (2, 6)
    assert (report.equal, report.compared) == (report.requests, report.requests)
    assert report.exist == report.cited == 14


@pytest.mark.timeout(420)
async def test_an_agent_mends_a_real_package_once_when_its_worker_dies_while_it_plans(
    tmp_path: Path,
) -> None:
    shown: list[str] = []
    report = await play_debug(tmp_path / "project", 5, 1, shown.append)
    assert report.wrong == [], "\n".join([*shown, *report.lines()])
    assert (report.green, report.phases, report.commits) == (2, ["planning"], 1)
