"""What a run remembers of its own way: the latest entries, within bounds."""

from coterie.dsl.model.causes import RouteCause, RuleMatched, Started
from coterie.workflows.core.requests import Decision
from coterie.workflows.core.state import MAX_DECISIONS, RunState, TrailRecord
from coterie.workflows.core.state_keys import MAIN, StateKey
from coterie.workflows.core.state_parts import CachedResult, Frame, ReadInProgress, Track
from coterie.workflows.core.views import TrailKind


def test_a_trail_of_more_than_two_thousand_entries_forgets_its_oldest_thousand() -> None:
    state = RunState()
    for number in range(1, 2001):
        state.note(TrailRecord(number, 0.0, "step", "a", 1))
    assert [entry.number for entry in state.trail] == list(range(1, 2001))
    state.note(TrailRecord(2001, 0.0, "step", "a", 1))
    assert [entry.number for entry in state.trail] == list(range(1001, 2002))
    assert state.trail_length == 2001


def test_a_run_takes_its_latest_hundred_trail_entries_along() -> None:
    state = RunState()
    for number in range(1, 102):
        state.note(TrailRecord(number, 0.0, "step", "a", 1))
    resumed = RunState.resumed(state.carried())
    assert [entry.number for entry in resumed.trail] == list(range(2, 102))
    assert (resumed.trail_length, resumed.trail_digest) == (101, state.trail_digest)


def test_the_entry_of_a_visit_leaves_its_cause_to_the_route_that_led_there() -> None:
    def digest(kind: TrailKind, cause: RouteCause) -> str:
        state = RunState()
        state.note(TrailRecord(1, 0.0, kind, "a", 1, cause=cause))
        return state.trail_digest

    one, other = Started("started"), RuleMatched("rule", 1)
    assert digest("team", one) == digest("team", other)
    assert digest("route", one) != digest("route", other)
    assert len(digest("route", one)) == 16


def _decision(number: int) -> Decision:
    return Decision(id=f"a/s#{number}", verdict="approved", by="ann", at="now", how="update")


def test_the_oldest_decisions_that_steps_have_read_are_dropped_beyond_five_hundred() -> None:
    state = RunState()
    for number in range(MAX_DECISIONS):
        state.decide(_decision(number), awaited=number in (0, 2))
    assert len(state.decisions) == MAX_DECISIONS == 500
    state.decide(_decision(500), awaited=False)
    state.decide(_decision(501), awaited=False)
    assert list(state.decisions)[:3] == ["a/s#0", "a/s#2", "a/s#4"]
    assert len(state.decisions) == 500
    assert state.decisions["a/s#0"] == _decision(0)
    state.mark_read("a/s#0")
    assert (len(state.decisions), state.unread) == (500, ["a/s#2"])


def test_decisions_that_steps_wait_for_stay_until_they_are_read() -> None:
    state = RunState()
    for number in range(MAX_DECISIONS + 1):
        state.decide(_decision(number))
    assert len(state.decisions) == MAX_DECISIONS + 1
    state.mark_read("unknown")
    assert len(state.decisions) == MAX_DECISIONS + 1
    assert state.decisions["a/s#7"] == _decision(7)
    state.mark_read("a/s#7")
    assert "a/s#7" not in state.decisions
    assert len(state.unread) == len(state.decisions) == MAX_DECISIONS


def test_what_is_within_a_key_is_forgotten_and_nothing_beside_it() -> None:
    here = StateKey.at(MAIN, "a", 1, "code")
    beside = [
        StateKey.at(MAIN, "a", 1, "coder"),
        StateKey.at(MAIN, "a", 10, "code"),
        StateKey.visit(MAIN, "a", 1),
        StateKey.at(StateKey("main>b"), "a", 1, "code"),
    ]
    within = [StateKey(f"{here}/apply"), here.frame_of("left"), here.part("steps")]
    state = RunState()
    for key in (here, *within, *beside):
        state.frames[key] = Frame()
        state.progress.personas[key] = "writer"
    state.forget(here)
    assert list(state.frames) == beside
    assert list(state.progress.personas) == beside


def test_a_call_with_an_effect_makes_a_run_forget_what_it_has_read() -> None:
    state = RunState(
        cached_results={"a": CachedResult(1)}, reads_in_progress={"b": ReadInProgress()}
    )
    state.forget_reads()
    assert state == RunState()


def test_a_state_becomes_another_one_in_place() -> None:
    other = RunState(executions={"a/s": 2}, trail_length=3, tracks={"main": Track(team="a")})
    state = RunState(executions={"a/s": 1}, stop_by=5.0)
    state.become(other)
    assert state == other


def test_a_track_has_the_frame_of_its_current_visit() -> None:
    frame = Frame(input=7)
    state = RunState(tracks={"main": Track(team="a", visit=2)}, frames={"main:a#2": frame})
    assert state.open_frame("main") is frame
    state.main.visit = 3
    assert state.open_frame("main") is None


def test_the_executions_of_each_step_are_counted_from_one() -> None:
    state = RunState()
    assert [state.executed(step) for step in ("a/s", "a/t", "a/s", "a/s")] == [1, 1, 2, 3]
