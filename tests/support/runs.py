"""What tests do to a running workflow, and what they read of it."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowFailureError, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import Json
from coterie.runs.call_errors import task_was_lost
from coterie.storage.wire import data_converter
from coterie.workflows.core.requests import NOT_YET
from coterie.workflows.core.views import TeamResult

Handle = Any
"""A workflow handle; its signals and updates take any payload."""


async def asked(handle: Handle, env: WorkflowEnvironment | None = None) -> Any:
    """The first request that waits for a person."""
    for _ in range(4000):
        pending = await handle.query("pending")
        if pending:
            return pending[0]
        if env is None:
            await asyncio.sleep(0.02)  # between two looks
        else:
            await env.sleep(timedelta(minutes=10))
    raise AssertionError("nothing waits for a person")


async def decide(handle: Handle, id: str, decision: str = "approve", by: str = "ann") -> Any:
    """Decide by the update; again while the run continues as new, as `coterie` does."""
    payload = {"id": id, "decision": decision, "by": by, "comment": "because"}
    async with asyncio.timeout(60):
        while True:
            try:
                return await sent(handle, "decide", payload)
            except WorkflowUpdateFailedError as error:
                cause = error.cause
                if not isinstance(cause, ApplicationError) or cause.type != NOT_YET:
                    raise
            await asyncio.sleep(0.02)  # until the worker has begun the next part


async def sent(handle: Handle, update: str, payload: object) -> Any:
    """Send an update, again when its workflow task was lost, as `coterie` does."""
    async with asyncio.timeout(60):
        while True:
            try:
                return await handle.execute_update(update, payload)
            except RPCError as error:
                if not task_was_lost(error):
                    raise


async def refused(handle: Handle, payload: object, update: str = "decide") -> str:
    """Why an update is refused."""
    with pytest.raises(WorkflowUpdateFailedError) as error:
        await sent(handle, update, payload)
    return str(error.value.cause)


async def refusal(handle: Handle, payload: object, update: str = "decide") -> Any:
    """The error that an update is refused with: type, message, details."""
    with pytest.raises(WorkflowUpdateFailedError) as error:
        await sent(handle, update, payload)
    return error.value.cause


async def failure(handle: Handle) -> Any:
    """The failure of a run, as the ApplicationError that it ends with."""
    with pytest.raises(WorkflowFailureError) as error:
        await asyncio.wait_for(handle.result(), 120)
    return error.value.cause


async def scheduled(handle: Handle) -> list[Any]:
    """Every scheduled activity: its attributes, its input and its summary, in order."""
    history = await handle.fetch_history()
    found: list[Any] = []
    for event in history.events:
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
            attributes = event.activity_task_scheduled_event_attributes
            converter = data_converter.payload_converter
            given = converter.from_payload(attributes.input.payloads[0])
            summary = converter.from_payload(event.user_metadata.summary)
            found.append(
                {
                    "id": attributes.activity_id,
                    "type": attributes.activity_type.name,
                    "input": given,
                    "summary": summary,
                }
            )
    return found


def task_data(result: TeamResult) -> Json:
    """`{task: data}` of the last team, which a run returns unless its document declares it."""
    assert isinstance(result.output, dict)
    return result.output
