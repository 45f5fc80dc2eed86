"""Which task a person may retry or skip, by which names, and what becomes of it."""

from datetime import UTC, datetime

import pytest

from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Plan
from coterie.workflows.control.retry_and_skip import (
    CHOICES,
    retry,
    retry_refusal,
    skip,
    skip_refusal,
)
from coterie.workflows.control.steering_refusals import (
    ApprovalProtected,
    FailedTaskUnknown,
    MessageUnusable,
    PersonNotAllowed,
    RunUnable,
    SteeringRefusal,
    TaskAmbiguous,
    TaskNotSkippable,
    TaskRequestChanged,
    TaskUnknown,
    ValueForApproval,
)
from coterie.workflows.core.messages import RetryInput, SkipInput
from coterie.workflows.core.requests import Decision, Pending
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_keys import MAIN, StateKey, StepKey
from coterie.workflows.core.state_parts import Frame
from tests.support.compiling import plan_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SET = "type: set, values: {n: 1}"
PLAN: Plan = plan_of(f"""
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
      - {{name: draft, {SET}}}
      - {{name: ok, type: approval, prompt: "Good?", approvers: [ann]}}
      - name: both
        type: parallel
        branches:
          left: [{{name: note, {SET}}}]
          right: [{{name: memo, {SET}}}]
      - name: each
        iterate_on: [1, 2]
        loop_variable: item
        concurrency: 2
        body: [{{name: inner, {SET}}}]
      - name: careful
        type: try
        steps: [{{name: sign, type: approval, prompt: "Good?", approvers: [ann]}}]
        catch: [{{steps: [{{name: caught, {SET}}}]}}]
      routing: {{default: other}}
    other:
      tasks: [{{name: draft, {SET}}}, {{name: late, {SET}}}]
""")
DONE = Outcome.succeeded(1)


def running(team: str | None = "work", **ended: Outcome) -> RunState:
    """A run in the first visit of a team, some of whose tasks have ended."""
    state = RunState()
    state.main.team, state.main.visit = team, 1
    if team is not None:
        state.frames[StateKey.visit(MAIN, team, 1)] = Frame({**ended}, {})
    return state


def doing(*steps: str, state: RunState | None = None) -> RunState:
    found = state or running()
    found.doing = dict.fromkeys(steps, 0.0)
    return found


def waiting(*ids: str, by: tuple[str, ...] = (), state: RunState | None = None) -> RunState:
    """A run with these requests: those of failed tasks have the choices of failed tasks."""
    found = state or running()
    for id in ids:
        choices = CHOICES if "/failed#" in id else ()
        found.pending[id] = Pending(
            id=id,
            prompt="?",
            since="",
            approvers=by,
            choices=choices,
            payload_schema=None,
        )
    return found


@pytest.mark.parametrize(
    ("state", "task", "refusal"),
    [
        (running(), None, RunUnable("NothingFailed")),
        (waiting("work/ok#1"), "ok", RunUnable("NothingFailed")),
        (waiting("work/draft/failed#1"), None, None),
        (waiting("work/ok#1", "work/draft/failed#1"), None, None),
        (waiting("work/draft/failed#1"), "draft", None),
        (waiting("work/draft/failed#1"), "work/draft", None),
        (waiting("work/draft/failed#1"), "work/draft/failed#1", None),
        (
            waiting("work/draft/failed#1", "work/both/left/note/failed#1"),
            None,
            TaskAmbiguous(None, ("work/draft", "work/both/left/note")),
        ),
        (waiting("work/draft/failed#1", "work/both/left/note/failed#1"), "note", None),
        (
            waiting("work/draft/failed#1", "work/ok#1"),
            "late",
            FailedTaskUnknown("late", ("work/draft",)),
        ),
        (waiting("work/draft/failed#1", by=("ann", "bob")), "draft", None),
        (
            waiting("work/draft/failed#1", by=("ann",)),
            "draft",
            PersonNotAllowed("bob", "work/draft/failed#1", ("ann",)),
        ),
    ],
)
def test_a_failed_task_is_retried_by_a_name_that_only_it_has(
    state: RunState, task: str | None, refusal: SteeringRefusal | None
) -> None:
    assert retry_refusal(state, RetryInput(task=task, by="bob")) == refusal


def test_a_retried_task_waits_no_longer_and_its_decision_is_kept() -> None:
    state = waiting("work/draft/failed#1", "work/ok#1")
    decision = retry(state, RetryInput(by="ann", why="again"), NOW, "signal")
    assert decision == Decision(
        id="work/draft/failed#1",
        verdict="retried",
        by="ann",
        comment="again",
        at="2026-01-01T00:00:00.000+00:00",
        how="signal",
    )
    assert state.decisions == {decision.id: decision}
    assert list(state.pending) == ["work/ok#1"]


@pytest.mark.parametrize(
    ("state", "task", "refusal"),
    [
        (running(), "draft", None),
        (running(), "work/draft", None),
        (running("other"), "work/draft", None),
        (running(None), "draft", TaskUnknown("draft", "work/draft")),
        (running(), "late", TaskUnknown("late", None)),
        (running(), "other/lat", TaskUnknown("other/lat", "other/late")),
        (doing("other/late"), "late", None),
        (running("other"), "late", None),
        (running(), "note", None),
        (
            doing("work/both", "work/both/left/note", "work/both/right/memo"),
            "both",
            TaskNotSkippable("TaskHasSteps", "work/both", step="work/both/right/memo"),
        ),
        (running(), "work/both/left", TaskNotSkippable("TaskIsBranch", "work/both/left")),
        (
            running(draft=DONE),
            "draft",
            TaskNotSkippable("TaskHasEnded", "work/draft", status="success"),
        ),
        (doing("work/draft", state=running(draft=DONE)), "draft", None),
        (running(draft=DONE), "other/draft", None),
        (running("other", draft=DONE), "work/draft", None),
        (running(), "inner", TaskNotSkippable("TaskInRounds", "work/each/inner")),
        (
            doing("work/each/1/inner"),
            "inner",
            TaskAmbiguous("inner", ("work/each/1/inner", "work/each/inner")),
        ),
        (doing("work/each/1/inner"), "work/each/1/inner", None),
        (running(), "ok", ApprovalProtected("bob", "work/ok", "work/ok", ("ann",))),
        (
            running(),
            "careful",
            ApprovalProtected("bob", "work/careful", "work/careful/sign", ("ann",)),
        ),
        (
            waiting("work/ok#1", by=("ann",)),
            "ok",
            PersonNotAllowed("bob", "work/ok#1", ("ann",)),
        ),
        (waiting("work/ok#1", by=("ann", "bob")), "ok", None),
        (waiting("work/ok#1"), "ok", None),
        (
            waiting("work/careful/failed#1"),
            "careful",
            ApprovalProtected("bob", "work/careful", "work/careful/sign", ("ann",)),
        ),
        (waiting("work/draft/failed#1"), "work/draft/failed#1", None),
        (waiting("other/late/failed#1"), "late", None),
    ],
)
def test_a_task_is_skipped_unless_its_name_its_place_or_its_approvers_forbid_it(
    state: RunState, task: str, refusal: SteeringRefusal | None
) -> None:
    found = skip_refusal(PLAN, state, SkipInput(task=task, by="bob"))
    assert found == refusal


@pytest.mark.parametrize("task", ["ok", "careful"])
def test_an_approver_may_skip_an_approval(task: str) -> None:
    assert skip_refusal(PLAN, running(), SkipInput(task=task, by="ann")) is None


@pytest.mark.parametrize(
    ("plan", "state", "value", "refusal"),
    [
        (None, running(), 1, RunUnable("RunNotBegun")),
        (PLAN, waiting("work/draft/failed#1"), 1, None),
        (PLAN, waiting("work/draft#1"), None, None),
        (PLAN, waiting("work/draft#1"), 1, ValueForApproval("work/draft#1")),
        (PLAN, waiting("work/draft/input#1"), 1, ValueForApproval("work/draft/input#1")),
    ],
)
def test_only_a_task_that_could_have_a_value_gets_one(
    plan: Plan | None, state: RunState, value: int | None, refusal: SteeringRefusal | None
) -> None:
    assert skip_refusal(plan, state, SkipInput(task="draft", value=value)) == refusal


def test_a_value_that_is_too_large_is_refused() -> None:
    found = skip_refusal(PLAN, running(), SkipInput(task="draft", value="x" * 10_000_000))
    assert isinstance(found, MessageUnusable)
    assert found.code == "TooLarge"


def test_a_skip_decides_the_request_of_the_task() -> None:
    state, cut = waiting("work/draft/failed#1"), list[str]()
    given = SkipInput(task="draft", value=7, by="ann", why="enough")
    decision = skip(PLAN, state, given, NOW, "update", cut.append)
    assert decision == Decision(
        id="work/draft/failed#1",
        verdict="skipped",
        by="ann",
        comment="enough",
        at="2026-01-01T00:00:00.000+00:00",
        how="update",
        payload=7,
    )
    assert state.decisions == {decision.id: decision}
    assert state.unread == [decision.id]
    assert (state.pending, state.skips, cut, state.trail) == ({}, {}, [], [])


def test_a_skip_of_a_task_without_a_request_waits_for_the_task_and_ends_its_call() -> None:
    state, cut = doing("work/draft"), list[str]()
    given = SkipInput(task="draft", value=7, by="ann")
    decision = skip(PLAN, state, given, NOW, "update", cut.append)
    assert decision.id == "work/draft/skipped#1"
    assert (state.decisions, state.unread) == ({decision.id: decision}, [])
    assert state.skips == {StepKey("work/draft"): given}
    assert cut == ["work/draft"]
    assert len(state.trail) == 1
    assert skip(PLAN, state, given, NOW, "update", cut.append).id == "work/draft/skipped#2"


def test_a_retry_or_skip_that_names_another_request_than_the_one_that_waits_is_refused() -> None:
    id, seen = "work/draft/failed#1", "0123"
    asked = Pending(id=id, prompt="?", since="", choices=CHOICES, digest=seen)
    state = running()
    state.pending[id] = asked
    retries = [RetryInput(by="ann", digest=digest) for digest in (None, seen, "old")]
    assert [retry_refusal(state, retried) for retried in retries] == [
        None,
        None,
        TaskRequestChanged(id, "old", seen),
    ]
    skips = [SkipInput(task="draft", by="ann", digest=digest) for digest in (None, seen, "old")]
    assert [skip_refusal(PLAN, state, skipped) for skipped in skips] == [
        None,
        None,
        TaskRequestChanged("work/draft", "old", seen),
    ]
    unasked = SkipInput(task="draft", by="ann", digest="old")
    assert skip_refusal(PLAN, running(), unasked) == TaskRequestChanged("work/draft", "old", "")
