"""What people said to a run is recorded as it was taken, whichever way they said it."""

from pathlib import Path
from typing import Any

import pytest
from temporalio.testing import WorkflowEnvironment

from coterie.failures import CommandError
from coterie.testing.recording.recorder import recorded, recorded_run
from tests.support.engine import engine
from tests.support.runs import asked, decide

ASKING = """
orchestration:
  entry_team: review
  teams:
    review:
      tasks:
        - { name: sign, type: approval, prompt: Fine?, quorum: 3, approvers: [ann, ben, cleo] }
"""


async def test_recording_keeps_signals_that_were_not_refused(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Any = await running.start(ASKING, {})
        await asked(handle)
        for by in ("eve", "ann", "ann", "ben"):
            await handle.signal("approve", {"id": "review/sign#1", "by": by})
        await handle.signal("approve", "nonsense")
        await decide(handle, "review/sign#1", by="cleo")
        await handle.result()
        run = await recorded_run(running.client, handle.id)
    (case,) = recorded(run, team="review.yml", workspace=None).cases
    found = [(one.approval, one.decision, one.by) for one in case.decisions]
    assert found == [("review/sign#1", "approve", by) for by in ("ann", "ben", "cleo")]
    assert case.signals == ()


async def test_a_terminated_run_is_refused_as_one_that_was_terminated(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Any = await running.start(ASKING, {})
        await asked(handle)
        await handle.terminate()
        with pytest.raises(CommandError, match="was terminated, so its history breaks off"):
            await recorded_run(running.client, handle.id)
