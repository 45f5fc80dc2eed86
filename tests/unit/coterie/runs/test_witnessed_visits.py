"""What is written down of branches that were stopped: a visit that had begun, and nothing else."""

import pytest

from coterie.replay.decision_trace import DecisionObserver
from coterie.replay.trace_events import Visit
from tests.support.compiling import plan_of
from workflows.core.memory import Frame, Track, TrailRecord
from workflows.core.state import RunState

PLAN = """
orchestration:
  entry_team: start
  teams:
    start:
      tasks: [{name: a, type: set, values: {n: 1}}]
      routing: {rules: [{condition: all_success, next_team: [left, right]}]}
    left:
      tasks: [{name: l, type: set, values: {n: 1}}, {name: m, type: set, values: {n: 1}}]
    right: {tasks: [{name: r, type: set, values: {n: 1}}]}
"""
AT = "1970-01-01T00:00:05.000+00:00"


def witnessed(team: str | None, visit: int, *, frame: bool) -> dict[tuple[str, int], Visit]:
    """What is reported of a branch that was there, and is not at the next entry."""
    state, plan = RunState(), plan_of(PLAN)
    observer = DecisionObserver("run", lambda: plan)
    state.tracks["main>left"] = Track(team=team, visit=visit, branch=True)
    if frame:
        state.frames[f"main>left:{team}#{visit}"] = Frame()
    observer.see(state)
    del state.tracks["main>left"]
    observer.note(state, TrailRecord(1, 5.0, "step", "start", 1, "left", "cancelled"))
    return {key: one for key, one in observer.visits.items() if key != ("start", 1)}


def test_a_branch_that_was_stopped_in_a_visit_is_reported_with_when_it_ended() -> None:
    stopped = Visit("left", 1, ended=AT, status="stopped")
    assert witnessed("left", 1, frame=True) == {("left", 1): stopped}


@pytest.mark.parametrize(
    ("team", "visit", "frame"),
    [("left", 0, False), ("left", 1, False), (None, 0, False), ("of another plan", 1, True)],
    ids=["before its visit", "before its first step", "at its end", "unknown"],
)
def test_a_branch_that_had_done_nothing_when_it_was_stopped_has_no_visit_that_ended(
    team: str | None, visit: int, frame: bool
) -> None:
    assert witnessed(team, visit, frame=frame) == {}


def test_events_between_two_visits_belong_to_the_next_one_only() -> None:
    plan = plan_of(PLAN)
    observer, state = DecisionObserver("run", lambda: plan), RunState()
    entries = [
        TrailRecord(1, 5.0, "step", "start", 0, "met"),
        TrailRecord(2, 5.0, "team", "left", 1),
        TrailRecord(3, 5.0, "team", "right", 1),
    ]
    for noted in entries:
        observer.note(state, noted)
    found = {
        team: [one.entry.number for one in visit.happened]
        for (team, _), visit in observer.visits.items()
    }
    assert found == {"left": [1], "right": []}
