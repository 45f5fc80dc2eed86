"""The ledger of effects claims no more than a history proves."""

from datetime import UTC, datetime

import pytest

from coterie.activities.contracts import SkillRequest, SkillResult
from coterie.dsl.model.capabilities import Effect
from coterie.gateway.console.effects_ledger import Certainty, effects_of
from coterie.runs.histories.history_events import CallEnd, RecordedFailure
from coterie.runs.histories.recorded_calls import RecordedCall
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
SKILLS: dict[Effect, str] = {"once": "CommandRunner.run_once", "idempotent": "Cache.put"}


def call(
    end: CallEnd | None,
    error: str | None = None,
    *,
    attempts: int = 1,
    is_started: bool = True,
    effect: Effect = "once",
    key: str = "r/e/pay/act#1",
) -> RecordedCall:
    request = SkillRequest(skill=SKILLS[effect], key=key)
    return RecordedCall(
        "1",
        "pay/act",
        1,
        AT,
        request,
        attempts=attempts,
        started=AT if is_started else None,
        end=end,
        answer=SkillResult() if end == "completed" else None,
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
    (call("failed", "SkillFailed"), "not done"),
    (call("failed", "StaleAttempt"), "not done"),
    (call("completed", attempts=3, effect="idempotent"), "done"),
    (call("timed out", "", effect="idempotent"), "unknown"),
    (call("timed out", "", is_started=False, effect="idempotent"), "unknown"),
    (call("cancelled", "", effect="idempotent"), "unknown"),
    (call("failed", "SkillFailed", effect="idempotent"), "unknown"),
    (call("failed", "Timeout", effect="idempotent"), "unknown"),
    (call("failed", "SkillRefused", effect="idempotent"), "not done"),
    (call("failed", "SkillRefused", attempts=2, effect="idempotent"), "unknown"),
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
