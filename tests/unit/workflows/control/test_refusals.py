"""Refusals are facts with a code; one place makes sentences of them."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import get_args, get_type_hints

import pytest

from coterie.dsl.evaluate.context_writes import ContextWrite
from coterie.workflows.approvals import decision_refusals as decided
from coterie.workflows.approvals.decision_refusals import DecisionRefusal, decision_refusal_text
from coterie.workflows.control import steering_refusals as refusals
from coterie.workflows.control.pause_and_amend import (
    amend_refusal,
    end_refusal,
    redirect_refusal,
    worker_blocked,
)
from coterie.workflows.control.retry_and_skip import retry_refusal, skip, skip_refusal
from coterie.workflows.control.steering_refusals import (
    ApprovalProtected,
    FailedTaskUnknown,
    MessageUnusable,
    NothingToAmend,
    PathTooLong,
    PersonNotAllowed,
    RunUnable,
    SignalUnwanted,
    SteeringRefusal,
    TaskAmbiguous,
    TaskNotSkippable,
    TaskUnknown,
    TeamUnknown,
    TooManyPaths,
    TooManySignals,
    ValueForApproval,
    refusal_text,
)
from coterie.workflows.core.causes.message_causes import WorkerBlocked
from coterie.workflows.core.messages import (
    AmendInput,
    Control,
    RedirectInput,
    RetryInput,
    SkipInput,
)
from coterie.workflows.core.progress.progress_kinds import ConcurrentLoopProgress
from coterie.workflows.core.requests import Decision, Pending, RunNotReady
from coterie.workflows.core.state import RunState
from tests.law.sources import ROOT
from tests.support.compiling import plan_of

PLAN = plan_of(
    """
orchestration:
  entry_team: work
  teams:
    work: {tasks: [{name: draft, type: set, values: {a: 1}}]}
    rest: {tasks: [{name: draft, type: set, values: {a: 1}}]}
"""
)


def failed(*tasks: str) -> RunState:
    state = RunState()
    state.main.team = "work"
    for task in tasks:
        id = f"{task}/failed#1"
        state.pending[id] = Pending(
            id=id, prompt="?", approvers=("ada",), choices=("retry",), since="2026-01-01"
        )
    return state


ROUNDS = plan_of(
    """
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - name: each
          iterate_on: [1, 2]
          loop_variable: n
          concurrency: 2
          body: [{name: act, type: set, values: {a: 1}}]
        - name: both
          type: parallel
          branches:
            left: [{name: l, type: set, values: {a: 1}}]
            right: [{name: r, type: set, values: {b: 1}}]
        - {name: consent, type: approval, prompt: "?", approvers: [ada]}
"""
)


def doing(*steps: str) -> RunState:
    state = failed()
    state.doing = dict.fromkeys(steps, 1.0)
    return state


def asking() -> RunState:
    state = failed()
    id = "work/consent#1"
    state.pending[id] = Pending(id=id, prompt="?", approvers=("ada",), since="2026-01-01")
    return state


@pytest.mark.parametrize(
    ("refusal", "expected"),
    [
        (lambda: amend_refusal(RunState(), AmendInput(updates={})), NothingToAmend()),
        (
            lambda: amend_refusal(RunState(), AmendInput(updates={f"a{n}": 1 for n in range(101)})),
            TooManyPaths(101, 100),
        ),
        (
            lambda: amend_refusal(RunState(), AmendInput(updates={"a" * 301: 1})),
            PathTooLong("a" * 60, 301, 300, 50),
        ),
        (lambda: end_refusal(RunState(stop_by=1.0), done=True), RunUnable("RunCancelled")),
        (lambda: end_refusal(RunState(), done=True), RunUnable("RunHasEnded")),
        (
            lambda: redirect_refusal(PLAN, RunState(), RedirectInput(team="x")),
            RunUnable("BetweenTeams"),
        ),
        (
            lambda: redirect_refusal(PLAN, failed(), RedirectInput(team="x")),
            TeamUnknown("x", ("work", "rest")),
        ),
        (lambda: retry_refusal(RunState(), RetryInput()), RunUnable("NothingFailed")),
        (
            lambda: retry_refusal(failed("work/a", "work/b"), RetryInput()),
            TaskAmbiguous(None, ("work/a", "work/b")),
        ),
        (
            lambda: retry_refusal(failed("work/a"), RetryInput(task="b")),
            FailedTaskUnknown("b", ("work/a",)),
        ),
        (
            lambda: retry_refusal(failed("work/a"), RetryInput(by="eve")),
            PersonNotAllowed("eve", "work/a/failed#1", ("ada",)),
        ),
        (lambda: skip_refusal(None, RunState(), SkipInput(task="x")), RunUnable("RunNotBegun")),
        (
            lambda: skip_refusal(PLAN, failed(), SkipInput(task="work/drat")),
            TaskUnknown("work/drat", "work/draft"),
        ),
        (
            lambda: skip_refusal(PLAN, doing("work/a/x", "rest/b/x"), SkipInput(task="x")),
            TaskAmbiguous("x", ("work/a/x", "rest/b/x")),
        ),
        (
            lambda: skip_refusal(PLAN, doing("work/a", "work/a/x"), SkipInput(task="work/a")),
            TaskNotSkippable("TaskHasSteps", "work/a", step="work/a/x"),
        ),
        (
            lambda: skip_refusal(ROUNDS, failed(), SkipInput(task="work/each/act")),
            TaskNotSkippable("TaskInRounds", "work/each/act"),
        ),
        (
            lambda: skip_refusal(ROUNDS, failed(), SkipInput(task="work/both/left")),
            TaskNotSkippable("TaskIsBranch", "work/both/left"),
        ),
        (
            lambda: skip_refusal(ROUNDS, asking(), SkipInput(task="consent", by="eve")),
            PersonNotAllowed("eve", "work/consent#1", ("ada",)),
        ),
        (
            lambda: skip_refusal(ROUNDS, asking(), SkipInput(task="consent", value=1, by="ada")),
            ValueForApproval("work/consent#1"),
        ),
        (
            lambda: skip_refusal(ROUNDS, failed(), SkipInput(task="work/consent", by="eve")),
            ApprovalProtected("eve", "work/consent", "work/consent", ("ada",)),
        ),
    ],
)
def test_message_is_refused_with_the_facts_of_its_reason(
    refusal: Callable[[], SteeringRefusal | None], expected: SteeringRefusal
) -> None:
    assert refusal() == expected


def test_the_value_of_a_skipped_task_is_small_enough_to_show() -> None:
    large = SkipInput(task="work/draft", value="x" * 1_000_000)
    refusal = skip_refusal(PLAN, failed(), large)
    assert isinstance(refusal, MessageUnusable)
    assert refusal.code == "TooLarge"


def test_a_path_of_an_amendment_has_at_most_300_characters_and_50_parts() -> None:
    def refusal(path: str) -> SteeringRefusal | None:
        return amend_refusal(RunState(), AmendInput(updates={path: 1}))

    assert refusal("a" * 300) is refusal(".".join("a" * 50)) is None
    assert refusal(".".join("a" * 51)) == PathTooLong(".".join("a" * 30) + ".", 101, 300, 50)
    hundred = AmendInput(updates={f"a{n}": 1 for n in range(100)})
    assert amend_refusal(RunState(), hundred) is None


def test_an_amendment_leaves_what_concurrent_rounds_have_written_alone() -> None:
    state = failed()
    write = ContextWrite("x.y", 1)
    state.progress.concurrent_loops["key"] = ConcurrentLoopProgress([], writes={"0": [write]})
    refusal = amend_refusal(state, AmendInput(updates={"x": 1}))
    assert isinstance(refusal, refusals.AmendConflicts)
    assert "'x.y'" in refusal.message
    assert amend_refusal(state, AmendInput(updates={"z": 1})) is None


def test_the_trail_says_that_a_watchdog_ended_a_worker() -> None:
    state = failed()
    at = datetime(2026, 1, 1, tzinfo=UTC)
    worker_blocked(state, Control(by="w1", why="90 s"), at)
    [entry] = state.trail
    assert (entry.status, entry.cause) == ("blocked", WorkerBlocked("worker_blocked", "w1", "90 s"))
    assert entry.because == "the run blocked worker w1: 90 s"


EXAMPLES: list[SteeringRefusal] = [
    MessageUnusable("Malformed", "not JSON"),
    NothingToAmend(),
    TooManyPaths(101, 100),
    PathTooLong("a", 301, 300, 50),
    refusals.AmendConflicts("x and y"),
    refusals.AmendInvalid("goal is a number, not a text"),
    TeamUnknown("x", ("work",)),
    TaskUnknown("x", None),
    FailedTaskUnknown("x", ("a",)),
    TaskAmbiguous(None, ("a", "b")),
    PersonNotAllowed("eve", "a#1", ("ada",)),
    ApprovalProtected("eve", "a", "a/b", ("ada",)),
    ValueForApproval("a#1"),
    ApprovalProtected("eve", "a", "a", ("ada",)),
    TaskAmbiguous("x", ("a/x", "b/x")),
    TaskNotSkippable("TaskHasSteps", "a", step="a/b"),
    TaskNotSkippable("TaskIsBranch", "a"),
    TaskNotSkippable("TaskHasEnded", "a", status="success"),
    TaskNotSkippable("TaskInRounds", "a"),
    refusals.TooManyMessages("SessionFull", 5),
    refusals.TaskRequestChanged("work/pay", "0123", "4567"),
    TaskUnknown("x", "y"),
    SignalUnwanted("go"),
    TooManySignals("go", 100),
    refusals.TooManyMessages("QueueFull", 5),
    refusals.SessionMovedOn("m1"),
    RunUnable("RunHasEnded"),
    refusals.NoAgentAtWork(("a/b",)),
    refusals.NoAgentAtWork(()),
    refusals.AgentUnknown("x", ("a/b",), None),
    refusals.AgentUnknown("x", ("a/b",), "a/b"),
    refusals.AgentAmbiguous(None, ("a/b", "a/c")),
    refusals.AgentAmbiguous("b", ("a/b#1", "a/b#2")),
    refusals.TooMuchSaid("TooMuchSaid", "a/b", 20),
    refusals.TooMuchSaid("TooMuchSaid", "a/b", 200_000, is_size=True),
]


def test_every_kind_of_refusal_is_worded() -> None:
    assert {type(one) for one in EXAMPLES} == set(get_args(SteeringRefusal))
    texts = [refusal_text(one) for one in EXAMPLES]
    assert all(texts)
    assert len(set(texts)) == len(texts)


def test_a_refused_skip_names_the_approval_that_a_task_contains() -> None:
    within, itself = (
        ApprovalProtected("eve", "a", approval, ("ada",)) for approval in ("a/b", "a")
    )
    assert "'a/b'" in refusal_text(within)
    assert "contains" not in refusal_text(itself)


EARLIER = Decision(id="a#1", verdict="approved", by="ann", at="", how="update")
DECISIONS: list[DecisionRefusal] = [
    decided.RequestClosed(
        "a#1", Decision(id="a#1", verdict="approved", by="ann", at="", how="update")
    ),
    decided.RequestUnknown("a#1", ("b#1",)),
    decided.DeciderNotAllowed("a#1", "eve", ("ann",)),
    decided.FailedTaskApproved("a#1"),
    decided.RequestChanged("a#1", "old", "new"),
    decided.AlreadyApproved("a#1", "ann", ("ann",), 2),
    decided.DigestMissing("a#1", edited=True),
    decided.PayloadRefused("a#1", "payload.n is a text, not a number"),
]


def test_every_refusal_of_a_decision_is_worded() -> None:
    assert {type(one) for one in DECISIONS} == set(get_args(DecisionRefusal))
    assert len({decision_refusal_text(one) for one in DECISIONS}) == len(DECISIONS)


def test_operating_manual_lists_every_code_of_a_refusal() -> None:
    page = (ROOT / "docs/approvals.md").read_text()
    codes = {
        code
        for kind in (*get_args(SteeringRefusal), *get_args(DecisionRefusal), RunNotReady)
        for code in get_args(get_type_hints(kind)["code"])
    }
    assert {code for code in codes if f"`{code}`" not in page} == set()


def test_a_step_whose_tool_asks_is_skipped_at_once() -> None:
    state = failed()
    id = "work/draft/input#1"
    state.pending[id] = Pending(id=id, prompt="?", approvers=("ada",), since="2026-01-01")
    asked = SkipInput(task="work/draft", by="ada")
    assert skip_refusal(PLAN, state, asked) is None
    decision = skip(PLAN, state, asked, datetime(2026, 1, 1, tzinfo=UTC), "update", lambda _: None)
    assert (decision.id, decision.verdict) == (id, "skipped")
    assert (state.pending, state.skips) == ({}, {})
    assert state.unread == [id], "the step that waits has not read it yet"


def test_another_task_than_the_failed_one_is_skipped_when_it_is_named() -> None:
    state = failed("work/broken")
    asked = SkipInput(task="rest/draft", by="eve")
    assert skip_refusal(PLAN, state, asked) is None
    decision = skip(PLAN, state, asked, datetime(2026, 1, 1, tzinfo=UTC), "update", lambda _: None)
    assert decision.id.startswith("rest/draft/")
    assert state.unread == [], "no step waits for it"
    assert list(state.pending) == ["work/broken/failed#1"]
    assert len(state.skips) == 1


def test_a_failed_task_is_named_by_its_request_too() -> None:
    state = failed("work/a", "work/b")
    asked = SkipInput(task="work/b/failed#1", by="ada")
    decision = skip(PLAN, state, asked, datetime(2026, 1, 1, tzinfo=UTC), "update", lambda _: None)
    assert decision.id == "work/b/failed#1"
    assert list(state.pending) == ["work/a/failed#1"]
