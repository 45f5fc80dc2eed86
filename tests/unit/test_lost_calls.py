"""What a step says when nobody answered its call."""

import pytest
from temporalio.exceptions import ActivityError, RetryState, TimeoutError, TimeoutType

from activities.contracts import CallOptions, FailureType
from dsl.capabilities import Effect
from workflows.calls import _expected  # pyright: ignore[reportPrivateUsage]
from workflows.scope import Call, CallFailed


def failed(kind: TimeoutType, effect: Effect) -> tuple[str, str]:
    error = ActivityError(
        "failed", scheduled_event_id=1, started_event_id=2, identity="w", activity_type="a",
        activity_id="1", retry_state=RetryState.MAXIMUM_ATTEMPTS_REACHED,
    )  # fmt: skip
    error.__cause__ = TimeoutError("late", type=kind, last_heartbeat_details=[])
    call = Call(
        id="1", step="a/b", summary="a/b", options=CallOptions(timeout=5, retries=2, effect=effect)
    )
    told = _expected(error, call)
    assert isinstance(told, CallFailed)
    return told.type, told.message


@pytest.mark.parametrize("effect", ["read", "idempotent"])
def test_a_call_that_was_lost_with_its_worker_is_not_called_slow(effect: Effect) -> None:
    lost = "a/b: its worker was lost before it answered, and no attempt is left"
    assert failed(TimeoutType.HEARTBEAT, effect) == ("Timeout", lost)
    assert failed(TimeoutType.START_TO_CLOSE, effect) == (
        "Timeout", "a/b did not answer within 5 s",
    )  # fmt: skip


@pytest.mark.parametrize("kind", [TimeoutType.HEARTBEAT, TimeoutType.START_TO_CLOSE])
def test_of_what_may_happen_once_the_outcome_is_unknown(kind: TimeoutType) -> None:
    assert failed(kind, "once")[0] == FailureType.OUTCOME_UNKNOWN
