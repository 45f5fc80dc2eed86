"""What Temporal's lists show of a run: few values, and short ones."""

import pytest

from coterie.workflows.core.requests import Pending
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_parts import Track
from coterie.workflows.core.views import Paused
from coterie.workflows.temporal.attribute_kinds import KINDS, PLAN, STATE, TEAM, WAITING
from coterie.workflows.temporal.durable_scope import attributes
from tests.support.compiling import plan_of

OF = plan_of("orchestration: {entry_team: a, teams: {a: {tasks: [{name: s}]}}}")


def _pending(id: str) -> Pending:
    return Pending.model_construct(id=id)


def test_lists_show_the_plan_the_teams_and_the_requests_of_a_run() -> None:
    state = RunState(
        tracks={"main": Track(team="a"), "main>b": Track(team="b"), "main>c": Track()},
        pending={"a/s#1": _pending("a/s#1")},
    )
    shown = attributes(OF.model_copy(update={"name": "p" * 101}), state, done=False)
    assert shown == {
        PLAN: "p" * 100,
        STATE: "waiting",
        TEAM: ("a", "b"),
        WAITING: ("a/s#1",),
    }
    assert set(shown) == set(KINDS)


@pytest.mark.parametrize(("number", "shown"), [(9, 9), (10, 10), (11, 10)])
def test_lists_show_the_first_ten_different_values(number: int, shown: int) -> None:
    teams = [f"{n:0200}" if n == 0 else f"t{n}" for n in range(number)]
    tracks = {f"main>{n}": Track(team=team) for n, team in enumerate(teams)}
    tracks["main"] = Track(team=teams[0])
    found = attributes(OF, RunState(tracks=tracks), done=True)
    assert found[TEAM] == tuple(team[:100] for team in teams[:shown])


@pytest.mark.parametrize(
    ("state", "done", "word"),
    [
        (RunState(), False, "running"),
        (RunState(), True, "done"),
        (RunState(stop_by=1.0), False, "stopping"),
        (RunState(stop_by=1.0), True, "cancelled"),
        (RunState(paused=Paused(by="ann", why="", since="now")), False, "paused"),
        (RunState(pending={"a/s#1": _pending("a/s#1")}), False, "waiting"),
    ],
)
def test_lists_say_in_one_word_what_a_run_does(state: RunState, done: bool, word: str) -> None:
    assert attributes(OF, state, done=done)[STATE] == word
