"""An update whose workflow task is lost is sent again: the run has not seen it."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from google.protobuf.any_pb2 import Any as Packed
from temporalio.api.common.v1 import GrpcStatus
from temporalio.api.errordetails.v1 import NotFoundFailure, WorkflowNotReadyFailure
from temporalio.service import RPCError, RPCStatusCode

from coterie.runs import run_client
from coterie.runs.run_client import Run, updated
from coterie.runs.sessions import send_message
from coterie.workflows.core.messages import AmendInput, SessionInput


def failure(detail: WorkflowNotReadyFailure | NotFoundFailure) -> RPCError:
    packed = Packed()
    packed.Pack(detail)
    status = GrpcStatus(code=9, message="a server's words", details=[packed])
    return RPCError("any", RPCStatusCode.FAILED_PRECONDITION, status.SerializeToString())


class Server:
    """Loses the workflow tasks of some updates, then answers."""

    def __init__(self, *failures: RPCError) -> None:
        self._failures = list(failures)
        self.ids: list[str | None] = []

    async def execute_update(self, name: str, asked: object, **options: Any) -> int:
        self.ids.append(options.get("id"))
        if self._failures:
            raise self._failures.pop(0)
        return 3

    async def start_update(self, name: str, asked: object, **options: Any) -> Any:
        answer = await self.execute_update(name, asked, **options)

        async def result() -> int:
            return answer

        return SimpleNamespace(result=result)

    def get_workflow_handle(self, id: str, **_: Any) -> "Server":
        return self


def run_on(server: Server) -> Run:
    return Run(cast("Any", server), "a")


AMEND = AmendInput(updates={"a": 1}, by="ann")


async def test_an_update_is_sent_again_when_its_task_was_lost() -> None:
    server = Server(failure(WorkflowNotReadyFailure()), failure(WorkflowNotReadyFailure()))
    assert await updated(run_on(server), "amend", AMEND, int) == 3
    assert len(server.ids) == 3


async def test_a_message_keeps_its_id_when_it_is_sent_again() -> None:
    server = Server(failure(WorkflowNotReadyFailure()))
    message = SessionInput(message="Hello.", by="ann")
    assert cast("int", await send_message(run_on(server), message, "m1")) == 3
    assert server.ids == ["m1", "m1"]


async def test_an_update_that_fails_for_another_reason_is_not_sent_again() -> None:
    server = Server(failure(NotFoundFailure()))
    with pytest.raises(RPCError):
        await updated(run_on(server), "amend", AMEND, int)
    assert len(server.ids) == 1


async def test_an_update_whose_task_is_lost_for_too_long_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run_client, "_ANSWER_SECONDS", timedelta(0))
    server = Server(failure(WorkflowNotReadyFailure()), failure(WorkflowNotReadyFailure()))
    with pytest.raises(RPCError):
        await updated(run_on(server), "amend", AMEND, int)
    assert len(server.ids) == 1
