"""The board says where a run is, also between teams, in fan-outs and at its end."""

import pytest

from dsl.model.plan import Plan
from tests.support.engine import plan_of
from workflows.core.memory import Fork, Track
from workflows.core.requests import Pending
from workflows.core.state import RunState
from workflows.handlers.board import board

PLAN: Plan = plan_of("""
orchestration:
  entry_team: draft
  teams: { draft: { tasks: [{ name: note, type: set, values: { n: 1 } }] } }
""")


@pytest.mark.parametrize(
    ("main", "told"),
    [
        (Track(team="draft", visit=2), "**test**: team **draft**, visit 2 (0 of 30 team visits)"),
        (Track(team="draft"), "**test**: team **draft** is next (0 of 30 team visits)"),
        (Track(fork=Fork(("left", "right"))), "**test**: branches **left**, **right** (0 of 30"),
        (Track(), "**test**: at its end (0 of 30 team visits)"),
    ],
)
def test_the_board_begins_with_where_the_run_is(main: Track, told: str) -> None:
    assert board(PLAN, RunState(tracks={"main": main})).startswith(told)


def test_board_shows_a_few_of_very_many_steps_and_requests() -> None:
    """Every step writes it anew, so a thousand branches must not write a thousand lines each."""
    state = RunState()
    for number in range(1000):
        id = f"draft/many/{number}/ok#1"
        state.doing[id] = 0.0
        state.pending[id] = Pending(id=id, prompt="Well?", since="")
    shown = board(PLAN, state)
    assert "- and 990 more steps\n" in shown
    assert "- and for 990 more decisions\n" in shown
    assert shown.count("\n") < 30
