"""The ledger of effects claims no more than a history proves."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from coterie.activities.contracts import FunctionRequest, FunctionResult
from coterie.dsl.model.capabilities import Effect
from coterie.runs.effects_ledger import Certainty, effects_of
from coterie.runs.histories.recorded_calls import RecordedCall
from coterie.runs.histories.recorded_events import CallEnd
from coterie.runs.histories.recorded_values import RecordedFailure
from coterie.workflows.core.causes.people_causes import RequestDecided
from coterie.workflows.core.views import TrailEntry
from tests.support.engine import plan_of

AT = datetime(2026, 11, 29, tzinfo=UTC)
PLAN = plan_of("""
tools: {pay: {skill: CommandRunner.run_once}, keep: {skill: Cache.put}}
orchestration:
  entry_team: pay
  teams:
    pay:
      tasks:
        - {name: act, type: tool, tool: pay, arguments: {command: pay}}
        - {name: keep, type: tool, tool: keep, arguments: {key: a, value: 1}}
""")
TOOL_FUNCTIONS: dict[Effect, str] = {"once": "CommandRunner.run_once", "idempotent": "Cache.put"}


def call(
    end: CallEnd | None,
    error: str | None = None,
    *,
    attempts: int = 1,
    is_started: bool = True,
    effect: Effect = "once",
    key: str = "r/e/pay/act#1",
) -> RecordedCall:
    request = FunctionRequest(skill=TOOL_FUNCTIONS[effect], key=key)
    return RecordedCall(
        "1",
        "pay/act",
        1,
        AT,
        request,
        attempts=attempts,
        started=AT if is_started else None,
        end=end,
        answer=FunctionResult() if end == "completed" else None,
        failure=None if error is None else RecordedFailure(error, "why"),
    )


CASES: list[tuple[RecordedCall, Certainty]] = [
    (call("completed"), "done"),
    (call(None), "in progress"),
    (call("timed out", ""), "unknown"),
    (call("timed out", "", is_started=False), "not done"),
    (call("cancelled", ""), "unknown"),
    (call("failed", "OutcomeUnknown"), "unknown"),
    (call("failed", "WorkerStopped"), "unknown"),
    (call("failed", "FunctionFailed"), "not done"),
    (call("failed", "StaleAttempt"), "not done"),
    (call("completed", attempts=3, effect="idempotent"), "done"),
    (call("timed out", "", effect="idempotent"), "unknown"),
    (call("timed out", "", is_started=False, effect="idempotent"), "unknown"),
    (call("cancelled", "", effect="idempotent"), "unknown"),
    (call("failed", "FunctionFailed", effect="idempotent"), "unknown"),
    (call("failed", "Timeout", effect="idempotent"), "unknown"),
    (call("failed", "FunctionRefused", effect="idempotent"), "not done"),
    (call("failed", "FunctionRefused", attempts=2, effect="idempotent"), "unknown"),
]


@pytest.mark.parametrize(("made", "certainty"), CASES)
def test_a_call_is_done_or_not_done_only_where_the_history_proves_it(
    made: RecordedCall, certainty: Certainty
) -> None:
    (row,) = effects_of(PLAN, [made], has_ended=False)
    assert row.certainty == certainty


@pytest.mark.parametrize(
    ("end", "error", "certainty"),
    [("completed", None, "done"), ("timed out", "", "unknown"), (None, None, "in progress")],
)
def test_the_last_activity_of_a_call_says_what_became_of_it(
    end: CallEnd | None, error: str | None, certainty: Certainty
) -> None:
    calls = [call("failed", "InputRequired"), call(end, error)]
    (row,) = effects_of(PLAN, calls, has_ended=False)
    assert row.certainty == certainty


def test_nobody_learns_what_came_of_a_call_after_its_run_has_ended() -> None:
    calls = [call(None), call("failed", "InputRequired", key="other"), call("completed", key="3")]
    rows = effects_of(PLAN, calls, has_ended=True)
    assert [row.certainty for row in rows] == ["unknown", "unknown", "done"]


CAREFUL = plan_of("""
tools: {pay: {skill: CommandRunner.run_once}, look: {skill: Cache.put}}
orchestration:
  entry_team: pay
  teams:
    pay:
      tasks:
        - name: carefully
          type: try
          steps: [{name: act, type: tool, tool: pay, arguments: {command: pay}}]
          catch:
            - error: OutcomeUnknown
              steps:
                - {name: verify, type: tool, tool: look, arguments: {key: a, value: 1}}
                - {name: ask, type: approval, prompt: "Was it paid?"}
""")


def at_path(made: RecordedCall, path: str, seconds: float) -> RecordedCall:
    at = AT + timedelta(seconds=seconds)
    return replace(made, path=path, scheduled=at, started=at, ended=at)


def decided(step: str, seconds: float) -> TrailEntry:
    cause = RequestDecided("decided", f"pay/{step}#1", "approved", "ann")
    at = (AT + timedelta(seconds=seconds)).isoformat()
    return TrailEntry(number=1, at=at, kind="approval", team="pay", visit=1, step=step, cause=cause)


LOST = at_path(call("failed", "OutcomeUnknown"), "pay/carefully/act", 0)
LOOK = at_path(call("completed", effect="idempotent", key="look"), "pay/carefully/verify", 1)
ELSEWHERE = at_path(call("completed", effect="idempotent", key="else"), "pay/other", 1)
AGAIN = at_path(call("completed", key="again"), "pay/carefully/act", 2)


@pytest.mark.parametrize(
    ("calls", "trail", "certainty"),
    [
        ([LOST], [], "unknown"),
        ([LOST, ELSEWHERE], [decided("other", 1)], "unknown"),
        ([LOST, LOOK], [], "verified"),
        ([LOST, LOOK], [decided("carefully/ask", 2)], "answered"),
        ([LOST], [decided("carefully/act", 1)], "answered"),
        ([LOST, AGAIN], [decided("carefully/ask", 3)], "unknown"),
    ],
)
def test_an_unknown_outcome_is_settled_only_where_its_failure_is_handled(
    calls: list[RecordedCall], trail: list[TrailEntry], certainty: Certainty
) -> None:
    rows = effects_of(CAREFUL, calls, trail, has_ended=False)
    assert rows[0].certainty == certainty, rows[0].why
