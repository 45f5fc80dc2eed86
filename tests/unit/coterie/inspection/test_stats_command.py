"""`coterie stats`: what is counted of recorded runs, and how it is shown."""

import json
from pathlib import Path

import pytest

from coterie.inspection.stats_command import CountedRun, StatsCounter, strategies_of
from coterie.rendering.stats_text import stats_json, stats_text
from coterie.replay.rebuilt_run import Rebuilt, rebuilt
from coterie.runs.histories.recorded_calls import recorded_calls
from coterie.runs.stats_report import StatsReport
from coterie.storage.histories import read_history
from tests.support.places import ROOT

HISTORIES = ROOT / "tests" / "replay" / "histories"


async def counted(name: str, *, completed: bool = True, over: bool = True) -> CountedRun:
    history = read_history(Path(HISTORIES / f"{name}.0.1.0.json"))
    seen = await rebuilt(history)
    assert isinstance(seen, Rebuilt)
    return CountedRun(
        plan=name,
        over=over,
        completed=completed,
        seconds=2.0,
        strategies=strategies_of(seen.plan),
        trail=seen.trail,
        calls=recorded_calls(history),
        events=len(history.events),
    )


async def report(*runs: CountedRun) -> StatsReport:
    counter = StatsCounter()
    for run in runs:
        counter.add(run)
    return counter.report(more=False)


async def test_each_strategy_has_its_success_its_time_and_how_often_it_won() -> None:
    run = await counted("strategies")
    found = {
        f"{one.team}/{one.step}: {one.branch}": one for one in (await report(run, run)).strategies
    }
    assert set(found) == {
        "race/best: a",
        "race/best: b",
        "race/best: c",
        "race/first: a",
        "race/first: b",
    }
    first = found["race/first: a"]
    assert (first.count, first.succeeded, first.failed, first.won) == (2, 0, 2, 0)
    assert first.success_rate == 0
    assert first.mean_seconds == pytest.approx(first.seconds / 2)
    assert first.seconds > 0
    assert (found["race/first: b"].won, found["race/best: b"].won) == (2, 2)
    assert (found["race/best: c"].cancelled, found["race/best: c"].success_rate) == (2, None)


async def test_decisions_and_tools_have_counts_failures_and_seconds() -> None:
    result = await report(await counted("tool_agent"), await counted("hooks"))
    decisions = {f"{one.team}/{one.step}": one for one in result.decisions}
    router = decisions["work/act"]
    assert (router.count, router.called, router.answered, router.corrected) == (7, 5, 1, 1)
    assert decisions["work/act/helper"].answered == 1
    tools = {one.tool: one for one in result.tools}
    assert (tools["Files.list"].count, tools["Files.list"].failed) == (8, 0)
    # A subagent, a team, and a call that a person refused: nothing of them is a call of a tool
    # function.
    assert (tools["helper"].count, tools["audit"].count, tools["guarded"].failed) == (1, 1, 1)


async def test_open_and_failed_runs_of_a_team_are_counted_separately() -> None:
    run = await counted("strategies")
    failed = await counted("strategies", completed=False)
    still_open = await counted("strategies", over=False, completed=False)
    (team,) = (await report(run, failed, still_open)).teams
    assert (team.count, team.succeeded, team.open, team.mean_seconds) == (2, 1, 1, 2.0)


async def test_a_table_says_how_many_runs_were_read_and_json_has_every_row() -> None:
    result = (await report(await counted("strategies"))).model_copy(
        update={"more": True, "unreadable": ("lost\x1b[2J",), "unfollowed": 1}
    )
    text = stats_text(result, "strategies")
    assert text.startswith("1 run read, newest first; older ones were not read\n")
    assert "1 run of another version" in text
    assert "\x1b" not in text
    assert "race/first: b      1          1  100%" in text
    assert "tool" not in text.splitlines()[-1]
    data = json.loads(stats_json(result))
    assert data["strategies"][4]["success_rate"] == 1.0
    assert data["tools"] == []
    assert stats_text(result, "tools").endswith("tool: none")
