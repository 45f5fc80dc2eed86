"""What a step says when nobody answered its call."""

from types import SimpleNamespace
from typing import get_args

import pytest
from temporalio import workflow
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    RetryState,
    TimeoutError,
    TimeoutType,
)

from coterie.activities.contracts import (
    WORKER_STOPPED,
    AgentResponse,
    CallOptions,
    FailureType,
    FunctionRequest,
    FunctionResult,
    Spent,
    TokenUsage,
)
from coterie.dsl.model.capabilities import Effect
from coterie.storage.wire import data_converter
from coterie.workflows.core.scope import Call, CallFailed
from coterie.workflows.core.state import RunState
from coterie.workflows.core.usage import together
from coterie.workflows.temporal.activity_calls import Calls
from coterie.workflows.temporal.call_failures import expected_failure
from coterie.workflows.temporal.pacer import Pacer


def ended(cause: BaseException) -> ActivityError:
    """An activity that ended for this reason."""
    error = ActivityError(
        "failed",
        scheduled_event_id=1,
        started_event_id=2,
        identity="w",
        activity_type="a",
        activity_id="1",
        retry_state=RetryState.MAXIMUM_ATTEMPTS_REACHED,
    )
    error.__cause__ = cause
    return error


def lost(kind: TimeoutType, effect: Effect, *beats: object) -> CallFailed:
    error = ended(TimeoutError("late", type=kind, last_heartbeat_details=beats))
    call = Call(
        id="1", step="a/b", summary="a/b", options=CallOptions(timeout=5, retries=2, effect=effect)
    )
    message = expected_failure(error, call)
    assert isinstance(message, CallFailed)
    return message


def failed(kind: TimeoutType, effect: Effect) -> tuple[str, str]:
    shown = lost(kind, effect)
    return shown.type, shown.message


@pytest.mark.parametrize("effect", ["read", "idempotent"])
def test_a_call_that_was_lost_with_its_worker_is_not_called_slow(effect: Effect) -> None:
    gone = "a/b: its worker was lost before it answered, and no attempt is left"
    assert failed(TimeoutType.HEARTBEAT, effect) == ("Timeout", gone)
    assert failed(TimeoutType.START_TO_CLOSE, effect) == (
        "Timeout",
        "a/b did not answer within 5 s",
    )


@pytest.mark.parametrize("kind", [TimeoutType.HEARTBEAT, TimeoutType.START_TO_CLOSE])
def test_lost_once_call_has_an_unknown_outcome(kind: TimeoutType) -> None:
    assert failed(kind, "once")[0] == FailureType.OUTCOME_UNKNOWN


@pytest.mark.parametrize("effect", get_args(Effect))
@pytest.mark.parametrize("kind", [TimeoutType.HEARTBEAT, TimeoutType.START_TO_CLOSE])
def test_usage_of_a_lost_call_comes_from_its_last_heartbeat(
    kind: TimeoutType, effect: Effect
) -> None:
    spent = lost(kind, effect, {"usage": {"input_tokens": 7}, "seconds": 2.5}).spent
    assert spent == Spent(usage=TokenUsage(7), seconds=2.5)


def test_a_lost_call_pays_for_the_model_call_that_was_in_progress() -> None:
    beat = {"usage": {"input_tokens": 7}, "cost": 0.5, "open": [{"input_tokens": 4, "cost": 0.25}]}
    spent = lost(TimeoutType.HEARTBEAT, "read", beat).spent
    assert spent == Spent(usage=TokenUsage(11), cost=0.75, cut_off=1)
    assert together(Spent(cut_off=1), AgentResponse(cut_off=1)).cut_off == 2


def test_a_call_that_is_made_again_has_used_what_the_one_before_did() -> None:
    cut = Spent(usage=TokenUsage(10, 1), cost=0.1, seconds=2.0)
    answer = AgentResponse(data="x", usage=TokenUsage(5, 2), cost=0.2, seconds=1.0)
    shown = together(cut, answer)
    assert (shown.usage, shown.cost, shown.seconds) == (TokenUsage(15, 3), pytest.approx(0.3), 3.0)
    assert (shown.data, shown.unpriced) == ("x", False)
    assert together(Spent(seconds=2.0), answer).usage == answer.usage
    assert together(Spent(usage=TokenUsage(1)), answer).unpriced, "a part of it has no price"
    assert together(cut, Spent()) == cut
    assert together(cut, FunctionResult(data=1, seconds=0.5)) == FunctionResult(data=1, seconds=2.5)


class CutOff:
    """The engine: the first call is given back with its worker, the next ends as the test says."""

    def __init__(self, first: list[object], then: FunctionResult | ApplicationError) -> None:
        self.ids: list[str] = []
        self.first = first
        self.then = then

    def info(self) -> SimpleNamespace:
        return SimpleNamespace(get_current_history_length=lambda: 1)

    async def answer(self, *_: object, activity_id: str, **__: object) -> FunctionResult:
        self.ids.append(activity_id)
        if len(self.ids) == 1:
            raise ended(ApplicationError("stopped", *self.first, type=WORKER_STOPPED))
        if isinstance(self.then, ApplicationError):
            raise ended(self.then)
        return self.then


async def called(
    there: CutOff, monkeypatch: pytest.MonkeyPatch, effect: Effect = "idempotent"
) -> FunctionResult:
    monkeypatch.setattr(workflow, "start_activity", there.answer)
    monkeypatch.setattr(workflow, "payload_converter", lambda: data_converter.payload_converter)
    monkeypatch.setattr(workflow, "info", there.info)
    options = CallOptions(timeout=5, retries=0, effect=effect)
    call = Call(id="7", summary="a/b", options=options, step="a/b")
    request = FunctionRequest(skill="A.b", key="k")
    return await Calls(RunState(), "run", Pacer()).call_function(request, call)


@pytest.mark.parametrize(("used", "seconds"), [([{"seconds": 2.0}], 2.5), ([], 0.5)])
async def test_a_call_that_was_cut_off_with_its_worker_is_made_again_and_counts_both(
    used: list[object], seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = CutOff(used, FunctionResult(data="done", seconds=0.5))
    assert await called(there, monkeypatch) == FunctionResult(data="done", seconds=seconds)
    assert there.ids == ["7", "7.again"]


@pytest.mark.parametrize(("used", "seconds"), [([{"seconds": 0.5}], 2.5), ([], 2.0)])
async def test_a_call_that_is_made_again_and_fails_has_used_what_both_did(
    used: list[object], seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = CutOff([{"seconds": 2.0}], ApplicationError("no", *used, type="FunctionFailed"))
    with pytest.raises(CallFailed, match="no") as failed:
        await called(there, monkeypatch)
    assert (failed.value.type, failed.value.spent) == ("FunctionFailed", Spent(seconds=seconds))


async def test_a_call_that_may_happen_once_is_never_made_again_when_its_worker_stops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = CutOff([{"seconds": 2.0}], FunctionResult())
    with pytest.raises(CallFailed) as failed:
        await called(there, monkeypatch, "once")
    assert (failed.value.type, there.ids) == (FailureType.OUTCOME_UNKNOWN, ["7"])
