"""A run as a client sees it: its end, its first start, its whole trail, and a busy server."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pydantic import BaseModel, Field
from temporalio.client import (
    WorkflowFailureError,
    WorkflowHistory,
    WorkflowQueryFailedError,
    WorkflowUpdateFailedError,
)
from temporalio.exceptions import (
    ApplicationError,
    CancelledError,
    TerminatedError,
    TimeoutError,
    TimeoutType,
)
from temporalio.service import RPCError, RPCStatusCode

from coterie.activities.contracts import TokenUsage
from coterie.dsl.model.outcomes import Failure
from coterie.failures import CommandError
from coterie.runs.call_errors import NoWorker
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.run_client import Run, json_of
from coterie.storage.wire import data_converter
from coterie.workflows.core.messages import (
    AmendInput,
    DecideInput,
    RedirectInput,
    RetryInput,
    SkipInput,
    StateAsked,
)
from coterie.workflows.core.requests import NOT_YET, RequestView
from coterie.workflows.core.views import TeamResult, TrailEntry, TrailPage

RESULT = TeamResult(
    end="completed",
    because="no team follows",
    plan="p",
    digest="d",
    context={"a": 1},
    visits={"t": 1},
    teams_run=1,
    model_calls=0,
    function_calls=0,
    usage=TokenUsage(),
    trail_length=3,
    trail_digest="e",
)
START = datetime(2026, 1, 2, tzinfo=UTC)
FIRST_START = datetime(2026, 1, 1, tzinfo=UTC)
BUSY = RPCError("query buffer is full", RPCStatusCode.RESOURCE_EXHAUSTED, b"")
GONE = RPCError("not found", RPCStatusCode.NOT_FOUND, b"")


class Server:
    """A client whose calls answer with what a test gives, each thing once, or raise it."""

    data_converter = data_converter
    namespace = "default"

    def __init__(self, **answers: list[Any]) -> None:
        self._answers = answers
        self.calls: list[tuple[Any, ...]] = []
        self.workflow_service = SimpleNamespace(request_cancel_workflow_execution=self._cancel)

    async def _cancel(self, request: Any, **_: Any) -> None:
        assert (request.namespace, request.workflow_execution.workflow_id) == ("default", "a")
        await self._call("cancel")(reason=request.reason)

    def get_workflow_handle(self, id: str, run_id: str | None = None, **_: Any) -> Any:
        return SimpleNamespace(
            result=self._call("result"),
            cancel=self._call("cancel"),
            query=self._call("query"),
            describe=self._call("describe", run_id),
            execute_update=self._call("update"),
            signal=self._call("signal"),
            fetch_history=self._call("history", run_id),
        )

    def _call(self, kind: str, *known: Any) -> Callable[..., Any]:
        async def call(*names: Any, args: Any = (), **options: Any) -> Any:
            reason = (options["reason"],) if "reason" in options else ()
            self.calls.append((kind, *known, *names, *args, *reason))
            answer = self._answers[kind].pop(0)
            if callable(answer):  # an answer for as long as it takes
                self._answers[kind].append(answer)
                answer = answer()
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call


def run_on(server: Server) -> Run:
    return Run(cast("Any", server), "a")


def described(
    run_id: str, first: str, *, cancelled: bool = False, type: str = "TeamWorkflow"
) -> Any:
    return SimpleNamespace(
        run_id=run_id,
        workflow_type=type,
        start_time=START if run_id == "2" else FIRST_START,
        raw_description=SimpleNamespace(
            workflow_execution_info=SimpleNamespace(first_run_id=first),
            workflow_extended_info=SimpleNamespace(cancel_requested=cancelled),
        ),
    )


def failed(cause: Exception) -> WorkflowFailureError:
    return WorkflowFailureError(cause=cause)


DETAIL = RESULT.model_dump(mode="json") | {"end": "failed"}
FAILED = RESULT.model_copy(update={"end": "failed"})


@pytest.mark.parametrize(
    ("answers", "end"),
    [
        ({"result": [RESULT]}, RunEnd("completed", RESULT)),
        (
            {"result": [failed(ApplicationError("down", DETAIL, 1, type="TeamError"))]},
            RunEnd("failed", FAILED, Failure("TeamError", "down")),
        ),
        (
            {"result": [failed(ApplicationError("down"))]},
            RunEnd("failed", None, Failure("Failed", "down")),
        ),
        (
            {"result": [failed(ApplicationError("down", {"end": "x"}, type="RunRefused"))]},
            RunEnd("failed", None, Failure("RunRefused", "down")),
        ),
        (
            {"result": [failed(TerminatedError("by ann"))]},
            RunEnd("terminated", details="by ann"),
        ),
        (
            {
                "result": [
                    failed(
                        TimeoutError(
                            "late", type=TimeoutType.START_TO_CLOSE, last_heartbeat_details=[]
                        )
                    )
                ]
            },
            RunEnd("timed out"),
        ),
        ({"result": [failed(ValueError("odd"))]}, RunEnd("failed", details="odd")),
        (
            {"result": [failed(CancelledError())], "query": [DETAIL]},
            RunEnd("cancelled", FAILED),
        ),
        ({"result": [failed(CancelledError())], "query": [None]}, RunEnd("cancelled")),
        (
            {
                "result": [failed(CancelledError())],
                "query": [WorkflowQueryFailedError("no")],
                "describe": [described("1", "1", type="Other")],
            },
            RunEnd("cancelled", details="'a' is not a Coterie run"),
        ),
        (
            {
                "result": [failed(CancelledError())],
                "query": [WorkflowQueryFailedError("[TMPRL1101] late")],
                "describe": [described("1", "1")],
            },
            RunEnd("cancelled", details="run 'a' cannot answer: [TMPRL1101] late"),
        ),
    ],
)
async def test_the_end_of_a_run_has_its_result_and_its_failure(
    answers: dict[str, list[Any]], end: RunEnd
) -> None:
    assert await run_on(Server(**answers)).end() == end


@pytest.mark.parametrize(
    ("first", "part", "start"),
    [
        ("", None, START),
        ("2", None, START),
        ("1", described("1", "1"), FIRST_START),
        ("1", GONE, START),
    ],
)
async def test_a_run_that_continued_as_new_began_with_its_first_part(
    first: str, part: Any, start: datetime
) -> None:
    server = Server(describe=[part])
    assert await run_on(server).began(described("2", first)) == start
    assert server.calls == ([] if part is None else [("describe", "1")])


@pytest.mark.parametrize("cancelled", [True, False])
async def test_the_server_knows_whether_somebody_cancelled_a_run(cancelled: bool) -> None:
    server = Server(describe=[described("2", "2", cancelled=cancelled)])
    assert await run_on(server).is_being_cancelled() is cancelled


def page(*numbers: int, more: bool) -> TrailPage:
    entries = [TrailEntry(number=n, at="", kind="step", team="t", visit=1) for n in numbers]
    return TrailPage(entries=tuple(entries), more=more)


async def test_a_trail_is_read_page_by_page_from_the_last_number_on() -> None:
    server = Server(query=[page(3, 4, more=True), page(5, more=True), page(6, more=False)])
    entries = await run_on(server).trail(2)
    assert [entry.number for entry in entries] == [3, 4, 5, 6]
    assert server.calls == [
        ("query", "events", 2),
        ("query", "events", 4),
        ("query", "events", 5),
    ]
    server = Server(query=[page(1, more=False)])
    assert len(await run_on(server).trail()) == 1
    assert server.calls == [("query", "events", 0)]


async def test_a_query_waits_its_turn_behind_that_of_another_client() -> None:
    server = Server(query=[BUSY, page(more=False)])
    assert await run_on(server).trail() == []
    assert len(server.calls) == 2


async def test_a_query_that_fails_for_another_reason_is_not_sent_again() -> None:
    server = Server(query=[RPCError("late", RPCStatusCode.DEADLINE_EXCEEDED, b"")])
    with pytest.raises(NoWorker):
        await run_on(server).trail()
    with pytest.raises(CommandError, match="there is no run 'a'"):
        await run_on(Server(query=[GONE])).trail()


async def test_other_tasks_go_on_while_a_query_waits_its_turn() -> None:
    answered: list[bool] = []
    asyncio.get_running_loop().call_soon(answered.append, True)
    server = Server(query=[lambda: page(more=False) if answered else BUSY])
    assert await run_on(server).trail() == []


def refusal(kind: str) -> WorkflowUpdateFailedError:
    return WorkflowUpdateFailedError(ApplicationError("no such request", type=kind))


DECIDE = DecideInput(id="t/a#1", decision="approve", by="ann")
RETRY = RetryInput(task="t/a", by="ann")
SKIP = SkipInput(task="t/a", by="ann")
AMEND = AmendInput(updates={"a": 1}, by="ann")
REDIRECT = RedirectInput(team="t", by="ann")
STATE = StateAsked(path="context")
VIEW = RequestView()
CALLS: dict[str, tuple[Callable[[Run], Awaitable[Any]], tuple[Any, ...], Any]] = {
    "decide": (lambda run: run.decide(DECIDE), ("update", "decide", DECIDE), "answer"),
    "retry": (lambda run: run.retry(RETRY), ("update", "retry", RETRY), "answer"),
    "skip": (lambda run: run.skip(SKIP), ("update", "skip", SKIP), "answer"),
    "amend": (lambda run: run.amend(AMEND), ("update", "amend", AMEND), None),
    "redirect": (lambda run: run.redirect(REDIRECT), ("update", "redirect", REDIRECT), None),
    "signal": (lambda run: run.signal("go", AMEND), ("signal", "go", AMEND), None),
    "cancel": (lambda run: run.cancel("enough"), ("cancel", "enough"), None),
    "status": (lambda run: run.status(), ("query", "status"), "answer"),
    "cost": (lambda run: run.cost(), ("query", "cost"), "answer"),
    "request": (lambda run: run.request("t/a#1"), ("query", "request", "t/a#1"), VIEW),
    "state": (lambda run: run.state("context"), ("query", "state", STATE), "answer"),
    "pending": (lambda run: run.pending(), ("query", "pending"), tuple("answer")),
}


@pytest.mark.parametrize("name", CALLS)
async def test_each_call_reaches_the_run_once_and_returns_its_answer(name: str) -> None:
    call, sent, answer = CALLS[name]
    server = Server(**{sent[0]: [VIEW if answer is VIEW else "answer"]})
    assert await call(run_on(server)) == answer
    assert server.calls == [sent]


@pytest.mark.parametrize("name", CALLS)
async def test_a_call_to_a_run_that_does_not_exist_says_so(name: str) -> None:
    call, sent, _ = CALLS[name]
    with pytest.raises(CommandError, match="there is no run 'a'"):
        await call(run_on(Server(**{sent[0]: [GONE]})))


async def test_an_update_is_sent_again_until_the_run_can_take_it() -> None:
    taken: list[bool] = []
    asyncio.get_running_loop().call_soon(taken.append, True)
    server = Server(update=[lambda: "answer" if taken else refusal(NOT_YET)])
    assert cast("str", await run_on(server).decide(DECIDE)) == "answer"
    assert len(server.calls) == 2


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (refusal("RequestClosed"), "the run refuses this decision: no such request"),
        (WorkflowUpdateFailedError(ValueError("odd")), "the run refuses this decision: odd"),
    ],
)
async def test_an_update_that_the_run_refuses_is_not_sent_again(
    failure: Exception, message: str
) -> None:
    server = Server(update=[failure])
    with pytest.raises(CommandError) as raised:
        await run_on(server).decide(DECIDE)
    assert str(raised.value) == message


@pytest.mark.parametrize("part", [None, "1"])
async def test_the_history_of_a_run_is_that_of_the_named_part(part: str | None) -> None:
    recorded = WorkflowHistory("a", [])
    server = Server(history=[recorded])
    assert await run_on(server).history(part) is recorded
    assert server.calls == [("history", part)]


def test_a_message_is_shown_as_json_with_the_names_of_the_wire() -> None:
    assert json_of(GiveSchema.model_validate({"schema": {"type": "object"}})) == (
        '{\n  "schema": {\n    "type": "object"\n  }\n}'
    )


class GiveSchema(BaseModel):
    """A message with a key that Python names otherwise."""

    schema_: dict[str, str] = Field(alias="schema")
