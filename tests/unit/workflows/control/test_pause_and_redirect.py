"""Pausing, resuming and redirecting a run, and what its end leaves undone."""

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import JsonValue

from coterie.dsl.evaluate.context_writes import ContextWrite
from coterie.dsl.model.causes import SentOn
from coterie.dsl.model.plan import Plan
from coterie.workflows.control.pause_and_amend import (
    MAX_PARTS,
    MAX_PATH_LENGTH,
    MAX_PATHS,
    amend_refusal,
    end_refusal,
    give_up,
    pause,
    pause_refusal,
    redirect,
    redirect_refusal,
    resume,
    worker_blocked,
)
from coterie.workflows.control.steering_refusals import (
    AmendConflicts,
    AmendInvalid,
    MessageUnusable,
    NothingToAmend,
    PathTooLong,
    RunUnable,
    SteeringRefusal,
    TeamUnknown,
    TooManyPaths,
)
from coterie.workflows.core.causes.message_causes import WorkerBlocked
from coterie.workflows.core.causes.people_causes import Amended, PauseChanged, TooLate
from coterie.workflows.core.messages import AmendInput, Control, RedirectInput
from coterie.workflows.core.progress.progress_kinds import ContextDraft
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_parts import FanOut, Track
from tests.support.compiling import plan_of

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
ANN = Control(by="ann", why="lunch")
PLAN: Plan = plan_of("""
orchestration:
  entry_team: work
  teams:
    work:
      tasks: [{name: note, type: set, values: {n: 1}}]
      routing: {default: other}
    other: {tasks: [{name: note, type: set, values: {n: 1}}]}
""")
DECLARED = plan_of("""
orchestration:
  context: {a: {type: integer, default: 1}}
  entry_team: work
  teams: {work: {tasks: [{name: note, type: set, values: {n: 1}}]}}
""").context


def at(minutes: int) -> str:
    return (NOW + timedelta(minutes=minutes)).isoformat(timespec="milliseconds")


@pytest.mark.parametrize(
    ("since", "deadline", "stood_still", "moved", "stands"),
    [
        (-60, 30, 0.0, 40, 600.0),
        (-60, 30, 5.0, 40, 605.0),
        (4, 30, 0.0, 36, 360.0),
        (-60, None, 0.0, None, 600.0),
    ],
    ids=["asked before", "paused before", "asked in the pause", "no deadline"],
)
def test_a_deadline_moves_by_as_long_as_its_request_stood_still(
    since: int, deadline: int | None, stood_still: float, moved: int | None, stands: float
) -> None:
    state = RunState()
    state.pending["a#1"] = Pending(
        id="a#1",
        prompt="?",
        since=at(since),
        deadline=None if deadline is None else at(deadline),
        stood_still=stood_still,
    )
    pause(state, ANN, NOW)
    resume(state, Control(by="bob"), NOW + timedelta(minutes=10))
    found = state.pending["a#1"]
    assert found.deadline == (None if moved is None else at(moved))
    assert (found.stood_still, found.since, state.paused) == (stands, at(since), None)


def test_a_second_pause_and_a_second_resumption_change_nothing() -> None:
    state = RunState()
    pause(state, ANN, NOW)
    pause(state, Control(by="bob"), NOW + timedelta(minutes=1))
    assert state.paused is not None
    assert (state.paused.by, state.paused.why, state.paused.since) == ("ann", "lunch", at(0))
    resume(state, Control(by="bob"), NOW + timedelta(minutes=2))
    resume(state, ANN, NOW + timedelta(minutes=3))
    assert [entry.cause for entry in state.trail] == [
        PauseChanged("paused", "ann", "lunch"),
        PauseChanged("resumed", "bob", ""),
    ]


def test_a_cancelled_run_has_no_pause() -> None:
    assert pause_refusal(RunState()) is None
    assert pause_refusal(RunState(stop_by=1.0)) == RunUnable("RunCancelled")


@pytest.mark.parametrize(
    ("stop_by", "done", "refusal"),
    [
        (None, False, None),
        (None, True, RunUnable("RunHasEnded")),
        (1.0, False, RunUnable("RunCancelled")),
        (1.0, True, RunUnable("RunCancelled")),
    ],
)
def test_a_run_that_ends_is_neither_amended_nor_redirected(
    stop_by: float | None, done: bool, refusal: SteeringRefusal | None
) -> None:
    assert end_refusal(RunState(stop_by=stop_by), done=done) == refusal


def test_a_run_is_redirected_within_a_team_to_one_that_it_has() -> None:
    state, to = RunState(), RedirectInput(team="other", by="ann", why="late")
    assert redirect_refusal(PLAN, state, to) == RunUnable("BetweenTeams")
    state.main.team = "work"
    assert redirect_refusal(PLAN, state, to) is None
    assert redirect_refusal(None, state, to) == RunUnable("BetweenTeams")
    unknown = TeamUnknown("gone", ("work", "other"))
    assert redirect_refusal(PLAN, state, RedirectInput(team="gone")) == unknown
    state.main.fan_out = FanOut(("work",))
    assert redirect_refusal(PLAN, state, to) == RunUnable("FanOutInProgress")


def test_the_end_of_a_run_notes_what_came_too_late() -> None:
    state = RunState()
    redirect(state, RedirectInput(team="other", by="ann", why="late"), NOW)
    state.amendments.append(AmendInput(updates={"a": 1}, by="bob", why="typo"))
    give_up(state, NOW)
    sent = SentOn("redirected", "other", "ann", "late")
    assert [(entry.kind, entry.cause) for entry in state.trail] == [
        ("control", sent),
        ("refused", TooLate("too_late", Amended("amended", ("a",), "bob", "typo"))),
        ("refused", TooLate("too_late", sent)),
    ]
    give_up(state, NOW)
    assert (len(state.trail), state.amendments, state.redirect) == (3, [], None)


def test_the_trail_names_the_worker_that_the_run_blocked() -> None:
    state = RunState()
    worker_blocked(state, Control(by="w1", why="busy"), NOW)
    (entry,) = state.trail
    assert entry.cause == WorkerBlocked("worker_blocked", "w1", "busy")
    assert (entry.kind, entry.status) == ("control", "blocked")


LONG = "x" * MAX_PATH_LENGTH
DEEP = ".".join("x" * MAX_PARTS)


@pytest.mark.parametrize(
    ("updates", "refusal"),
    [
        ({}, NothingToAmend()),
        ({f"a{n}": 1 for n in range(MAX_PATHS)}, None),
        (
            {f"a{n}": 1 for n in range(MAX_PATHS + 1)},
            TooManyPaths(MAX_PATHS + 1, MAX_PATHS),
        ),
        ({LONG: 1}, None),
        ({f"{LONG}x": 1}, PathTooLong("x" * 60, 301, MAX_PATH_LENGTH, MAX_PARTS)),
        ({DEEP: 1}, None),
        ({f"{DEEP}.x": 1}, PathTooLong(f"{DEEP}.x"[:60], 101, MAX_PATH_LENGTH, MAX_PARTS)),
    ],
)
def test_an_amendment_has_at_most_so_many_paths_of_such_a_length(
    updates: dict[str, JsonValue], refusal: SteeringRefusal | None
) -> None:
    assert amend_refusal(RunState(), AmendInput(updates=updates)) == refusal


def test_an_amendment_that_the_context_cannot_take_is_refused_for_its_reason() -> None:
    state, large = RunState(), AmendInput(updates={"a": "x" * 10_000_000})
    assert isinstance(amend_refusal(state, AmendInput(updates={"a": "x"}), DECLARED), AmendInvalid)
    found = amend_refusal(state, large)
    assert isinstance(found, MessageUnusable)
    assert found.code == "TooLarge"
    state.main.context = {"a": 1}
    assert isinstance(amend_refusal(state, AmendInput(updates={"a.b": 1})), AmendConflicts)


@pytest.mark.parametrize(
    ("paths", "conflicts"), [(["sum"], True), (["other", "sum.n"], True), (["other"], False)]
)
def test_an_amendment_of_what_a_branch_has_set_is_refused_whatever_else_it_changes(
    paths: list[str], conflicts: bool
) -> None:
    state = RunState()
    state.main.context = {"sum": {"n": 1}}
    writes = [ContextWrite("mine", 1), ContextWrite("sum", {"n": 2})]
    state.tracks["main>left"] = Track(context={}, team="left", branch=True, updates=writes)
    found = amend_refusal(state, AmendInput(updates=dict.fromkeys(paths, 7)))
    assert isinstance(found, AmendConflicts) is conflicts


@pytest.mark.parametrize(
    ("paths", "conflicts"), [(["sum"], True), (["other", "sum.n"], True), (["other"], False)]
)
def test_an_amendment_of_what_a_step_in_progress_has_set_is_refused_whatever_else_it_changes(
    paths: list[str], conflicts: bool
) -> None:
    state = RunState()
    draft = ContextDraft([ContextWrite("mine", 1), ContextWrite("sum", {"n": 2})])
    state.progress.drafts["main:work#1/both"] = draft
    found = amend_refusal(state, AmendInput(updates=dict.fromkeys(paths, 7)))
    assert isinstance(found, AmendConflicts) is conflicts
