"""A fork begins with what the other run has done, and with nothing that still waits there."""

from datetime import UTC, datetime

import pytest

from coterie.dsl.errors import RunRefused
from coterie.dsl.model.context.declarations import UNDECLARED
from coterie.workflows.control.fork import fork_off
from coterie.workflows.core.causes.message_causes import Forked
from coterie.workflows.core.causes.people_causes import Amended
from coterie.workflows.core.messages import AmendInput, ForkInput, RedirectInput, SkipInput
from coterie.workflows.core.requests import Decision, Pending
from coterie.workflows.core.state import RunState
from coterie.workflows.core.views import Paused

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ASKED = ForkInput(run="old", by="ann", why="typo")


def decided(id: str, run: str | None = None) -> Decision:
    return Decision(id=id, verdict="approved", by="ann", at="", how="update", run=run)


def test_what_waits_in_the_other_run_stays_there() -> None:
    state = RunState(
        pending={"a#1": Pending(id="a#1", prompt="?", since="")},
        amendments=[AmendInput(updates={"b": 1})],
        skips={"a/s": SkipInput(task="a/s")},
        doing={"a/s": 0.0},
        talking=["c"],
        remembered={"k": decided("a#1")},
        paused=Paused(by="ann", why="", since=""),
        redirect=RedirectInput(team="b"),
        stop_by=1.0,
        execution="first",
        model_calls=3,
    )
    held = [state.progress.requests, state.progress.sending_calls, state.progress.parked_turns]
    for mapping in held:
        mapping["main:a#1/s"] = None  # pyright: ignore[reportArgumentType]
    fork_off(state, ASKED, "b#1", NOW, UNDECLARED)
    assert held == [{}, {}, {}]
    assert (state.pending, state.amendments, state.skips, state.doing) == ({}, [], {}, {})
    assert (state.talking, state.remembered, state.notifications) == ([], {}, {})
    assert (state.paused, state.redirect, state.stop_by) == (None, None, None)
    assert state.execution == "", "its calls have keys of their own"
    assert state.model_calls == 3
    assert [entry.cause for entry in state.trail] == [Forked("forked", "old", "b#1", "ann", "typo")]


def test_decisions_of_the_other_run_name_the_run_that_got_them() -> None:
    state = RunState(decisions={"a#1": decided("a#1"), "a#2": decided("a#2", "older")})
    fork_off(state, ASKED, "b#1", NOW, UNDECLARED)
    assert state.decisions == {"a#1": decided("a#1", "old"), "a#2": decided("a#2", "older")}


def test_a_fork_begins_with_its_changes_of_the_context() -> None:
    state = RunState()
    state.main.context = {"a": {"n": 1}, "b": 2}
    changed = ASKED.model_copy(update={"updates": {"a.n": 7}})
    fork_off(state, changed, "b#1", NOW, UNDECLARED)
    assert (state.main.context, state.amendments) == ({"a": {"n": 7}, "b": 2}, [])
    assert state.trail[-1].cause == Amended("amended", ("a.n",), "ann", "typo")


def test_a_fork_with_a_change_that_its_context_cannot_take_is_refused() -> None:
    state = RunState()
    state.main.context = {"a": 1}
    with pytest.raises(RunRefused, match=r"a\.n"):
        fork_off(state, ASKED.model_copy(update={"updates": {"a.n": 7}}), "b#1", NOW, UNDECLARED)
