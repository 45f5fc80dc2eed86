"""A run as a client sees it: its end, its first start, its whole trail, and a busy server."""

from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.client import WorkflowFailureError, WorkflowQueryFailedError
from temporalio.exceptions import (
    ApplicationError,
    CancelledError,
    TerminatedError,
    TimeoutError,
    TimeoutType,
)
from temporalio.service import RPCError, RPCStatusCode

from activities.contracts import TokenUsage
from coterie.failures import CommandError
from coterie.runs.call_errors import NoWorker
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.run_client import Run
from dsl.model.outcomes import Failure
from workflows.core.views import TeamResult, TrailEntry, TrailPage

RESULT = TeamResult(
    end="completed",
    because="no team follows",
    plan="p",
    digest="d",
    context={"a": 1},
    visits={"t": 1},
    teams_run=1,
    model_calls=0,
    skill_calls=0,
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

    def __init__(self, **answers: list[Any]) -> None:
        self._answers = answers
        self.calls: list[tuple[Any, ...]] = []

    def get_workflow_handle(self, id: str, run_id: str | None = None, **_: Any) -> Any:
        return SimpleNamespace(
            result=self._call("result"),
            query=self._call("query"),
            describe=self._call("describe", run_id),
        )

    def _call(self, kind: str, *known: Any) -> Callable[..., Any]:
        async def call(*names: Any, args: Any = (), **_: Any) -> Any:
            self.calls.append((kind, *known, *names, *args))
            answer = self._answers[kind].pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call


def run_on(server: Server) -> Run:
    return Run(cast("Any", server), "a")


def described(run_id: str, first: str, *, cancelled: bool = False) -> Any:
    return SimpleNamespace(
        run_id=run_id,
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
            {"result": [failed(CancelledError())], "query": [WorkflowQueryFailedError("no")]},
            RunEnd("cancelled", details="'a' is not a Coterie run: no"),
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
