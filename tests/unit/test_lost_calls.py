"""What a step says when nobody answered its call."""

from typing import get_args

import pytest
from temporalio.exceptions import ActivityError, RetryState, TimeoutError, TimeoutType

from activities.contracts import (
    AgentResponse,
    CallOptions,
    FailureType,
    SkillResult,
    Spent,
    TokenUsage,
)
from dsl.capabilities import Effect
from workflows.calls import _expected  # pyright: ignore[reportPrivateUsage]
from workflows.scope import Call, CallFailed
from workflows.spending import together


def lost(kind: TimeoutType, effect: Effect, *beats: object) -> CallFailed:
    error = ActivityError(
        "failed", scheduled_event_id=1, started_event_id=2, identity="w", activity_type="a",
        activity_id="1", retry_state=RetryState.MAXIMUM_ATTEMPTS_REACHED,
    )  # fmt: skip
    error.__cause__ = TimeoutError("late", type=kind, last_heartbeat_details=beats)
    call = Call(
        id="1", step="a/b", summary="a/b", options=CallOptions(timeout=5, retries=2, effect=effect)
    )
    told = _expected(error, call)
    assert isinstance(told, CallFailed)
    return told


def failed(kind: TimeoutType, effect: Effect) -> tuple[str, str]:
    told = lost(kind, effect)
    return told.type, told.message


@pytest.mark.parametrize("effect", ["read", "idempotent"])
def test_a_call_that_was_lost_with_its_worker_is_not_called_slow(effect: Effect) -> None:
    gone = "a/b: its worker was lost before it answered, and no attempt is left"
    assert failed(TimeoutType.HEARTBEAT, effect) == ("Timeout", gone)
    assert failed(TimeoutType.START_TO_CLOSE, effect) == (
        "Timeout", "a/b did not answer within 5 s",
    )  # fmt: skip


@pytest.mark.parametrize("kind", [TimeoutType.HEARTBEAT, TimeoutType.START_TO_CLOSE])
def test_of_what_may_happen_once_the_outcome_is_unknown(kind: TimeoutType) -> None:
    assert failed(kind, "once")[0] == FailureType.OUTCOME_UNKNOWN


@pytest.mark.parametrize("effect", get_args(Effect))
@pytest.mark.parametrize("kind", [TimeoutType.HEARTBEAT, TimeoutType.START_TO_CLOSE])
def test_what_a_lost_call_used_is_known_by_its_last_beat(kind: TimeoutType, effect: Effect) -> None:
    spent = lost(kind, effect, {"usage": {"input_tokens": 7}, "seconds": 2.5}).spent
    assert spent == Spent(usage=TokenUsage(7), seconds=2.5)


def test_a_call_that_is_made_again_has_used_what_the_one_before_did() -> None:
    cut = Spent(usage=TokenUsage(10, 1), cost=0.1, seconds=2.0)
    answer = AgentResponse(data="x", usage=TokenUsage(5, 2), cost=0.2, seconds=1.0)
    told = together(cut, answer)
    assert (told.usage, told.cost, told.seconds) == (TokenUsage(15, 3), pytest.approx(0.3), 3.0)
    assert (told.data, told.unpriced) == ("x", False)
    assert together(Spent(seconds=2.0), answer).usage == answer.usage
    assert together(Spent(usage=TokenUsage(1)), answer).unpriced, "a part of it has no price"
    assert together(cut, Spent()) == cut
    assert together(cut, SkillResult(data=1, seconds=0.5)) == SkillResult(data=1, seconds=2.5)
