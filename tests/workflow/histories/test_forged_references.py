"""A payload that pretends to be a reference fails its message or its run, never the run's tasks."""

from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowFailureError, WorkflowUpdateFailedError
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment

from tests.support.engine import engine, trail
from tests.support.references import forged
from tests.support.runs import Handle, asked, decide

WAITING = """
orchestration:
  entry_team: review
  teams:
    review:
      tasks:
        - { name: sign, type: approval, prompt: "Ship?", deadline: 1d }
        - { name: word, type: wait, signal: word, deadline: 1d, when: "{{ false }}" }
"""


async def test_a_run_that_starts_with_a_forged_reference_fails_by_name(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        for payload in forged():
            handle = await running.start_raw(RawValue(payload))
            with pytest.raises(WorkflowFailureError) as failure:
                await handle.result()
            assert isinstance(failure.value.cause, ApplicationError)
            assert "pretends to be a reference to a stored value" in failure.value.cause.message


async def test_a_forged_reference_in_a_message_is_refused_and_hurts_no_run(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(WAITING)
        request = await asked(handle)
        for payload in forged():
            for name in ("approve", "pause", "word", "nobody"):
                await handle.signal(name, RawValue(payload))
            with pytest.raises(WorkflowUpdateFailedError) as refused:
                await handle.execute_update("decide", RawValue(payload))
            assert isinstance(refused.value.cause, ApplicationError)
            assert refused.value.cause.type == "Malformed"
            assert "pretends to be a reference" in refused.value.cause.message
        reasons = [entry.because for entry in await trail(handle) if entry.kind == "refused"]
        assert sum("pretends to be a reference" in because for because in reasons) >= 3
        await decide(handle, request["id"])
        await handle.result()
        types = [event.event_type for event in (await handle.fetch_history()).events]
        assert EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED not in types
