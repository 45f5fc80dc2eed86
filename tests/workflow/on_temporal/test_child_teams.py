"""Workflows of others that run teams as children, with the SDK's own converter and sandbox."""

import asyncio
import uuid
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import pytest_asyncio
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import CancelledError
from temporalio.worker import Worker

from coterie.documents.catalog import Catalog
from coterie.documents.trusted_catalog import trusted_catalog
from coterie.settings import load
from coterie.worker.compile_activity import CompileActivities
from coterie.workflows.team import TeamWorkflow
from tests.support.others.callers import COTERIE, Caller
from tests.support.runs import asked
from tests.support.servers.temporal_server import dev_server
from tests.support.watching.prepared_sandbox import prepared_sandbox

OWN = "theirs"
TEAM = """
name: child
orchestration:
  entry_team: work
  context: { size: { type: integer } }
  output: { text: "{{ 'x' * context.size }}" }
  teams: { work: { tasks: [TASK] } }
"""
DONE = TEAM.replace("TASK", "{ name: end, type: set, values: { x: 1 } }")
SIGNED = TEAM.replace("TASK", '{ name: sign, type: approval, prompt: "Go on?" }')
FAILS = TEAM.replace("TASK", "{ name: end, type: fail, error: NoStock, message: nothing left }")


class Callers(NamedTuple):
    """Workers of both sides."""

    client: Client

    async def start(self, document: str, **given: Any) -> Any:
        id = f"team-{uuid.uuid4()}"
        value = {"document": document, "id": id, **given}
        caller: Any = await self.client.start_workflow(
            "Caller", value, id=f"of-{id}", task_queue=OWN
        )
        async for event in caller.fetch_history_events(wait_new_event=True):
            if event.event_type == EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED:
                break
        return caller, self.client.get_workflow_handle(id)

    async def result(self, document: str, **given: Any) -> Any:
        caller, _ = await self.start(document, **given)
        return await asyncio.wait_for(caller.result(), 30)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def callers(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Callers]:
    folder: Path = tmp_path_factory.mktemp("children")
    (folder / "config").mkdir()
    (folder / "coterie.yml").touch()
    settings = load({}, folder)
    compiler = CompileActivities(settings, trusted_catalog(settings, Catalog(settings), None))
    async with dev_server() as env:
        plain = await Client.connect(env.client.service_client.config.target_host)
        async with (
            Worker(
                env.client,
                task_queue=COTERIE,
                workflows=[TeamWorkflow],
                activities=[compiler.compile_team],
                workflow_runner=prepared_sandbox(),
                build_id="test",
            ),
            Worker(plain, task_queue=OWN, workflows=[Caller], build_id="theirs"),
        ):
            yield Callers(plain)


async def test_a_workflow_gets_the_typed_result_of_a_team(callers: Callers) -> None:
    result = await callers.result(DONE)
    assert result == {"end": "completed", "output": {"text": "xxx"}, "visits": {"work": 1}}


async def test_a_large_result_of_a_team_is_in_the_history_of_its_caller(callers: Callers) -> None:
    result = await callers.result(DONE, context={"size": 60_000})
    assert len(result["output"]["text"]) == 60_000


async def test_a_team_that_fails_is_a_typed_failure_with_its_result(callers: Callers) -> None:
    result = await callers.result(FAILS)
    assert result["failed"] == "TeamFailed"
    assert "nothing left" in result["error"]["message"]


async def test_a_team_that_does_not_begin_is_refused(callers: Callers) -> None:
    result = await callers.result(DONE, context={"size": "many"})
    assert "size" in result["refused"]


@pytest.mark.parametrize(
    ("verdict", "end"),
    [
        ("approve", {"end": "completed", "output": {"text": "xxx"}}),
        ("reject", {"failed": "TeamFailed", "end": "failed"}),
    ],
)
async def test_a_workflow_decides_a_request_of_its_team(
    callers: Callers, verdict: str, end: dict[str, Any]
) -> None:
    caller, team = await callers.start(SIGNED, decides="yes")
    await asked(team)
    await caller.signal("decide", verdict)
    assert await asyncio.wait_for(caller.result(), 30) == end


@pytest.mark.parametrize("who", ["caller", "team", "left"])
async def test_a_team_stops_when_its_caller_is_cancelled_cancels_it_or_ends(
    callers: Callers, who: str
) -> None:
    caller, team = await callers.start(SIGNED, decides="leave" if who == "left" else "yes")
    if who == "left":
        assert await caller.result() == {"left": team.id}
    else:
        await asked(team)
        await (caller.cancel() if who == "caller" else caller.signal("decide", "cancel"))
    with pytest.raises(WorkflowFailureError) as error:
        await asyncio.wait_for(team.result(), 30)
    assert isinstance(error.value.cause, CancelledError)
