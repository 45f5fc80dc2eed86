"""Which runs are listed, and how a row reads."""

from datetime import UTC, datetime, timedelta

import pytest

from coterie.activities.contracts import TokenUsage
from coterie.rendering.run_table import run_json, run_table
from coterie.runs.run_list import FilterState, RunFilter, RunRow, RunState, open_row
from coterie.workflows.core.views import RunStatus, StepInProgress

NOW = datetime(2026, 1, 2, 12, tzinfo=UTC)


def row(
    state: RunState = "running",
    *,
    hours: float = 1,
    plan: str = "notes",
    teams: tuple[str, ...] = (),
) -> RunRow:
    return RunRow("r", plan, state, NOW - timedelta(hours=hours), teams=teams)


def status(**fields: object) -> RunStatus:
    given: dict[str, object] = {
        "plan": "notes",
        "digest": "d",
        "state": "running",
        "team": "write",
        "visit": 1,
        "teams_run": 1,
        "max_total_teams": 9,
        "visits": {},
        "model_calls": 0,
        "function_calls": 0,
        "usage": TokenUsage(),
        "events": 3,
        **fields,
    }
    return RunStatus.model_validate(given)


@pytest.mark.parametrize(
    ("state", "part"),
    [
        ("waiting", "ExecutionStatus = 'Running'"),
        ("no_worker", "ExecutionStatus = 'Running'"),
        ("open", "ExecutionStatus = 'Running'"),
        ("closed", "ExecutionStatus != 'Running'"),
        ("cancelled", "ExecutionStatus = 'Canceled'"),
        ("timed_out", "ExecutionStatus = 'TimedOut'"),
    ],
)
def test_the_server_filters_by_what_it_knows_of_a_state(state: FilterState, part: str) -> None:
    assert part in RunFilter(state=state).query(NOW).split(" AND ")


def test_parts_of_a_run_that_continued_as_new_are_one_run() -> None:
    assert "ExecutionStatus != 'ContinuedAsNew'" in RunFilter().query(NOW)


def test_a_filter_takes_runs_by_state_team_and_age() -> None:
    assert RunFilter(state="no_worker").takes(row("no worker"), NOW)
    assert not RunFilter(state="waiting").takes(row("running"), NOW)
    assert RunFilter(team="notes").takes(row(), NOW)
    assert RunFilter(team="review").takes(row(teams=("write", "review")), NOW)
    assert not RunFilter(team="review").takes(row(teams=("write",)), NOW)
    assert RunFilter(newer_than=timedelta(hours=2)).takes(row(hours=1), NOW)
    assert not RunFilter(newer_than=timedelta(hours=2)).takes(row(hours=3), NOW)
    assert RunFilter(older_than=timedelta(hours=2)).takes(row(hours=3), NOW)
    assert not RunFilter(older_than=timedelta(hours=2)).takes(row(hours=1), NOW)


def test_a_run_that_began_long_ago_and_continued_is_not_newer() -> None:
    """The server lists the latest part, which began just now; the run itself is older."""
    wanted = RunFilter(newer_than=timedelta(hours=2))
    assert not wanted.takes(row(hours=50), NOW)


def test_an_open_run_tells_where_it_is_and_what_it_waits_for() -> None:
    doing = [StepInProgress(step="draft/write", since="2026-01-02T11:00:00+00:00")]
    waiting = status(state="waiting", doing=doing, waiting_for=["sign_off/publish#1", "x/y#2"])
    found = open_row("r", "?", NOW, waiting)
    assert (found.plan, found.state) == ("notes", "waiting")
    assert found.teams == ("draft", "sign_off", "x", "write")
    assert run_json(found)["waiting_for"] == ["sign_off/publish#1", "x/y#2"]


def test_runs_are_a_table_in_columns_and_text_of_others_stays_on_its_line() -> None:
    rows = [
        RunRow(
            "long-name-of-a-run",
            "notes",
            "waiting",
            NOW - timedelta(hours=2),
            waits_for=("sign_off/publish#1", "b/c#1"),
        ),
        RunRow("r\x1b2", "a\nb", "failed", NOW - timedelta(hours=3), ended=NOW),
    ]
    assert run_table(rows, NOW).splitlines() == [
        "run                 team   state    began    took  at",
        "long-name-of-a-run  notes  waiting  2 h ago  2 h   sign_off/publish#1 and 1 more",
        r"r\u001b2            a b    failed   3 h ago  3 h",
    ]


@pytest.mark.parametrize(("state", "shown"), [("done", "running"), ("cancelled", "stopping")])
def test_a_run_that_temporal_has_not_closed_is_never_shown_as_ended(
    state: str, shown: RunState
) -> None:
    assert open_row("r", "notes", NOW, status(state=state)).state == shown
