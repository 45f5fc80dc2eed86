"""A run is marked for Temporal's lists only by what its server knows, and never held up by it."""

import logging
import uuid
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio
from temporalio import activity
from temporalio.api.enums.v1 import EventType, IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest
from temporalio.client import Client
from temporalio.worker import Worker

from coterie.activities.contracts import (
    COMPILE_TEAM,
    CompileRequest,
    CompileResult,
    VisibilitySettings,
)
from coterie.documents.worker_trust import TrustedConfig
from coterie.dsl.model.plan import Plan
from coterie.settings import load
from coterie.worker.compile_activity import CompileActivities
from coterie.worker.worker_parts import visibility_settings
from coterie.workflows.core.messages import TeamInput
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_parts import Track
from coterie.workflows.team import TeamWorkflow
from coterie.workflows.temporal.attribute_kinds import KINDS
from coterie.workflows.temporal.durable_scope import attributes
from tests.support.engine import DEFECTS, plan_of
from tests.support.runs import asked, decide
from tests.support.servers.temporal_server import dev_server
from tests.support.watching.prepared_sandbox import prepared_sandbox

TWO_TEAMS = """
orchestration:
  entry_team: draft
  teams:
    draft:
      tasks:
        - { name: note, type: set, values: { n: 1 } }
        - { name: rest, type: wait, duration: 10ms }
      routing: { rules: [{ condition: all_success, next_team: review }] }
    review: { tasks: [{ name: sign_off, type: approval, prompt: Good?, deadline: 1d }] }
"""
SWITCHED_ON = TrustedConfig(workspace="/", search_attributes=True, event_groups=True)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def client() -> AsyncGenerator[Client]:
    """Of a server that knows every attribute of ours."""
    async with a_server() as client:
        await register(client)
        yield client


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def bare_client() -> AsyncGenerator[Client]:
    """Of a server that knows no attribute of ours."""
    async with a_server() as client:
        yield client


@asynccontextmanager
async def a_server() -> AsyncGenerator[Client]:
    async with dev_server() as env:
        yield env.client


async def register(client: Client) -> None:
    """Have the server know every attribute of ours."""
    types = {
        "Keyword": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
        "KeywordList": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
    }
    await client.operator_service.add_search_attributes(
        AddSearchAttributesRequest(
            namespace="default", search_attributes={n: types[k] for n, k in KINDS.items()}
        )
    )


async def ended(
    client: Client, marks: VisibilitySettings | None, activities: Sequence[Any] | None = None
) -> Any:
    """A marked run to its end, on a worker of these marks."""
    queue = f"marks-{uuid.uuid4()}"
    compiling = CompileActivities(load(environ={}), SWITCHED_ON, visibility=marks)
    async with Worker(
        client,
        task_queue=queue,
        workflows=[TeamWorkflow],
        activities=[compiling.compile_team] if activities is None else activities,
        workflow_runner=prepared_sandbox(everything=True),
        workflow_failure_exception_types=DEFECTS,
        build_id="test",
    ):
        given = TeamInput(plan=plan_of(TWO_TEAMS), marked=True)
        handle: Any = await client.start_workflow("TeamWorkflow", given, id=queue, task_queue=queue)
        await asked(handle)
        await decide(handle, "review/sign_off#1")
        await handle.result()
    return handle


async def upserts(handle: Any) -> list[list[str]]:
    """The names of what each upsert changed, in order."""
    return [
        sorted(
            event.upsert_workflow_search_attributes_event_attributes.search_attributes.indexed_fields
        )
        for event in (await handle.fetch_history()).events
        if event.event_type == EventType.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES
    ]


async def test_an_attribute_that_is_not_registered_is_left_off_with_one_clear_line(
    bare_client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="coterie"):
        marks = await visibility_settings(bare_client, SWITCHED_ON)
    assert marks == VisibilitySettings(search_attributes=False, event_groups=True)
    [line] = [record.getMessage() for record in caplog.records]
    assert "search attributes are left off" in line
    assert "temporal operator search-attribute create --namespace default" in line
    for name, kind in KINDS.items():
        assert f"--name {name} --type {kind}" in line
    assert await upserts(await ended(bare_client, marks)) == []


async def test_a_registered_one_tells_each_change_once_and_what_is_called_is_grouped(
    client: Client,
) -> None:
    marks = await visibility_settings(client, SWITCHED_ON)
    assert marks == VisibilitySettings(search_attributes=True, event_groups=True)
    handle = await ended(client, marks)
    assert await upserts(handle) == [
        ["CoteriePlan", "CoterieState", "CoterieTeam"],
        ["CoterieTeam"],
        ["CoterieState", "CoterieWaiting"],
        ["CoterieState", "CoterieTeam", "CoterieWaiting"],
    ]
    history = await handle.fetch_history()
    groups = [
        [marker.label.id for marker in event.event_group_markers]
        for event in history.events
        if event.event_type == EventType.EVENT_TYPE_TIMER_STARTED
    ]
    assert groups == [["draft#1"], ["review#1"]]


@activity.defn(name=COMPILE_TEAM)
async def broken(request: CompileRequest) -> CompileResult:
    raise RuntimeError("out of order")


async def test_a_worker_that_cannot_say_holds_nobody_up(client: Client) -> None:
    assert await upserts(await ended(client, None, [broken])) == []


def test_no_value_is_larger_than_a_server_takes() -> None:
    plan: Plan = plan_of(TWO_TEAMS, name="ö" * 300)
    state = RunState()
    for number in range(60):
        state.tracks[f"main>{number}"] = Track(team=f"{number}" + "t" * 300)
        state.pending[f"{number}" + "r" * 300] = Pending(id="x", prompt="?", since="")
    shown = attributes(plan, state, done=False)
    assert set(shown) == set(KINDS)
    assert shown["CoterieState"] == "waiting"
    for value in shown.values():
        texts = (value,) if isinstance(value, str) else value
        assert all(len(text.encode()) <= 255 for text in texts)
        assert sum(len(text.encode()) + 3 for text in texts) < 2000
