"""Calls that change their queue, run locally, or end with a question nobody waits for."""

from typing import Any

import pytest
from temporalio import workflow
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
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
)
from coterie.dsl.model.tools.asked_input import AskedInput, ServerTask
from coterie.storage.wire import data_converter
from coterie.workflows.core.location import Skipped
from coterie.workflows.core.messages import SkipInput
from coterie.workflows.core.scope import CallFailed
from coterie.workflows.temporal.activity_calls import MAX_LOCAL_CALLS
from tests.support.simulation.engine_calls import (
    CALL,
    QUEUE,
    TOOL_FUNCTION,
    Engine,
    Handle,
    ended,
    patching,
    turn,
)


@pytest.fixture
def patch(monkeypatch: pytest.MonkeyPatch) -> Any:
    return patching(monkeypatch)


class Several(Engine):
    """Calls that end in these ways, one after the other; local ones end with `local`."""

    def __init__(self, *ends: FunctionResult | AgentResponse | Exception) -> None:
        super().__init__()
        self.ends = list(ends)
        self.sent: list[dict[str, Any]] = []
        self.local: FunctionResult | Exception = FunctionResult()

    def start_activity(self, name: str, sendable: Any, **options: Any) -> Handle:  # pyright: ignore[reportIncompatibleMethodOverride]
        request = data_converter.payload_converter.from_payload(sendable.payload)
        self.sent.append({"request": request, **options})
        return Handle(self.ends.pop(0))

    def start_local_activity(self, *_: object, **options: Any) -> Handle:
        self.options = options
        self.handle = Handle(self.local)
        return self.handle

    def ids(self) -> list[str]:
        return [one["activity_id"] for one in self.sent]


def elsewhere() -> ActivityError:
    details = QUEUE.model_dump(mode="json")
    return ended(ApplicationError("there", details, type=FailureType.OWN_QUEUE))


NOT_TAKEN = ended(
    TimeoutError("late", type=TimeoutType.SCHEDULE_TO_START, last_heartbeat_details=())
)


async def test_a_call_goes_to_the_queue_that_a_worker_names_and_comes_back_if_nobody_takes_it(
    patch: Any,
) -> None:
    engine = patch(Several(elsewhere(), NOT_TAKEN, AgentResponse(data="x")))
    await engine.calls.run_agent(turn("theirs"), CALL)
    assert [one["task_queue"] for one in engine.sent] == [None, QUEUE.name, None]
    assert engine.ids() == ["7", "7.q1", "7.q2"]
    assert engine.state.queues == {}


async def test_the_queue_that_a_worker_has_named_serves_the_next_calls_too(patch: Any) -> None:
    engine = patch(Several(elsewhere(), AgentResponse(), AgentResponse()))
    for _ in range(2):
        await engine.calls.run_agent(turn("theirs"), CALL)
    assert [one["task_queue"] for one in engine.sent] == [None, QUEUE.name, QUEUE.name]
    assert engine.ids() == ["7", "7.q1", "7"]


@pytest.mark.parametrize("origins", [[], ["old", "older"]])
async def test_a_forked_run_tells_its_agents_which_runs_it_comes_from(
    patch: Any, origins: list[str]
) -> None:
    engine = patch(Several(AgentResponse()))
    engine.state.origins = origins
    await engine.calls.run_agent(turn("p"), CALL)
    assert engine.sent[0]["request"].get("origins", []) == origins


ASKS = AskedInput(task=ServerTask(id="t1"))


def asking(asked: AskedInput) -> ActivityError:
    details = asked.model_dump(mode="json")
    return ended(ApplicationError("asks", {}, details, type=FailureType.INPUT_REQUIRED))


async def test_a_skipped_call_whose_tool_asks_ends_its_task_at_the_server(
    patch: Any,
) -> None:
    engine = patch(Several(asking(ASKS), FunctionResult()))
    engine.state.skips["a/b"] = SkipInput(task="b", value="instead")
    kept = TOOL_FUNCTION.model_copy(update={"keep": True})
    with pytest.raises(Skipped) as skipped:
        await engine.calls.call_function(kept, CALL)
    assert (skipped.value.value, engine.state.skips) == ("instead", {})
    assert engine.ids() == ["7", "7.unwanted"]
    ending = FunctionRequest.model_validate(engine.sent[1]["request"])
    assert ending.given_input is not None
    assert ending.given_input.asked.task == ServerTask(id="t1", unwanted=True)
    assert not ending.keep


@pytest.mark.parametrize(
    ("failure", "asks"),
    [
        (asking(ASKS), True),
        (ended(ApplicationError("asks", {}, type=FailureType.INPUT_REQUIRED)), False),
        (ended(ApplicationError("no", {}, {"task": {"id": "t1"}}, type="FunctionFailed")), False),
        (ended(ApplicationError("asks", {}, {"x": 1}, type=FailureType.INPUT_REQUIRED)), False),
    ],
    ids=["asks", "without questions", "another failure", "of another version"],
)
async def test_a_call_that_somebody_waits_for_fails_with_what_its_tool_asks(
    patch: Any, failure: ActivityError, asks: bool
) -> None:
    engine = patch(Several(failure))
    with pytest.raises(CallFailed) as failed:
        await engine.calls.call_function(TOOL_FUNCTION, CALL)
    assert failed.value.asked == (ASKS if asks else None)
    assert engine.ids() == ["7"]


LOCAL = CALL._replace(options=CallOptions(timeout=5, retries=0, local_timeout=2))


def locally(engine: Several, patch: Any, monkeypatch: pytest.MonkeyPatch) -> Several:
    monkeypatch.setattr(workflow, "start_local_activity", engine.start_local_activity)
    return patch(engine)


async def test_a_quick_call_is_local_until_so_many_were_in_a_row(
    patch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = locally(Several(FunctionResult(data="far")), patch, monkeypatch)
    engine.local = FunctionResult(data="near")
    found = [
        await engine.calls.call_function(TOOL_FUNCTION, LOCAL) for _ in range(MAX_LOCAL_CALLS + 2)
    ]
    assert [one.data for one in found] == ["near"] * MAX_LOCAL_CALLS + ["far", "near"]
    assert engine.options["start_to_close_timeout"].total_seconds() == 2
    assert not engine.pacer.pace.unused
    engine.calls.cut("a/b")
    assert engine.handle.cancelled == 0


async def test_a_local_call_uses_its_workflow_task(
    patch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = locally(Several(), patch, monkeypatch)
    assert engine.pacer.pace.unused
    await engine.calls.call_function(TOOL_FUNCTION, LOCAL)
    assert not engine.pacer.pace.unused


@pytest.mark.parametrize("kind", [FailureType.NOT_LOCAL, WORKER_STOPPED])
async def test_a_call_that_its_worker_will_not_make_at_once_becomes_an_activity(
    patch: Any, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    engine = locally(Several(FunctionResult(data="far")), patch, monkeypatch)
    engine.local = ApplicationError("not here", type=kind)
    assert (await engine.calls.call_function(TOOL_FUNCTION, LOCAL)).data == "far"


async def test_a_local_call_that_fails_is_not_made_again(
    patch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = locally(Several(), patch, monkeypatch)
    engine.local = ApplicationError("no", type="FunctionFailed")
    with pytest.raises(CallFailed) as failed:
        await engine.calls.call_function(TOOL_FUNCTION, LOCAL)
    assert failed.value.type == "FunctionFailed"
    assert engine.sent == []
