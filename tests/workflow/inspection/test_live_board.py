"""The Temporal UI shows of a run where it is, at the moment of the look."""

from pathlib import Path
from typing import Any

from temporalio.api.sdk.v1 import WorkflowMetadata
from temporalio.testing import WorkflowEnvironment

from coterie.workflows.team import METADATA
from tests.support.engine import engine
from tests.support.runs import asked, decide

PLAN = """
orchestration:
  entry_team: review
  teams:
    review:
      tasks:
        - { name: sign_off, type: approval, prompt: Is it good? }
        - { name: rest, type: wait, signal: woken }
"""


async def test_the_board_shows_a_run_as_it_is_when_somebody_asks(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Any = await running.start(PLAN)
        request = await asked(handle)
        shown = await handle.query(METADATA, result_type=WorkflowMetadata)
        assert "team **review**, visit 1 (1 of " in shown.current_details
        assert f"- **waits for a person**: `{request['id']}`: Is it good?" in shown.current_details
        assert {"status", "events", "state"} <= {
            one.name for one in shown.definition.query_definitions
        }

        await decide(handle, request["id"])
        shown = await handle.query(METADATA, result_type=WorkflowMetadata)
        assert "- doing `review/rest`" in shown.current_details
        assert "waits for a person" not in shown.current_details

        await handle.signal("woken")
        await handle.result()
        shown = await handle.query(METADATA, result_type=WorkflowMetadata)
        assert "at its end" in shown.current_details
