"""A run keeps to the context that its document declares: from the start, and at every write."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import WorkflowFailureError, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import Json
from tests.support.engine import Engine, engine
from tests.support.servers.temporal_server import time_skipping

DECLARED = """
orchestration:
  entry_team: ask
  context:
    goal: {type: string, minLength: 3}
    sum: {type: integer, default: 0, maximum: 5}
    seen: {type: array, default: [], keep_last: 2}
    mark: {type: string, default: fresh}
  teams:
    ask:
      resets: [mark]
      tasks:
        - {name: look, type: set, values: {was: "{{ context.mark }}"}}
        - {name: sign, type: approval, prompt: "Go on?"}
      routing:
        context_updates:
          seen: "{{ context.seen + [was] }}"
          sum: "{{ context.sum + 2 }}"
          mark: used
        rules: [{condition: "{{ run.visit < context.sum + 2 }}", next_team: ask}]
        default: null
"""


@pytest.fixture
async def env() -> AsyncGenerator[WorkflowEnvironment]:
    async with time_skipping() as made:
        yield made


async def asked(env: WorkflowEnvironment, handle: Any) -> str:
    while not (pending := await handle.query("pending")):
        await env.sleep(timedelta(minutes=20))
    return str(pending[0]["id"])


async def failure(running: Engine, context: Json) -> ApplicationError:
    with pytest.raises(WorkflowFailureError) as failed:
        await running.result(DECLARED, context)
    assert isinstance(failed.value.cause, ApplicationError)
    return failed.value.cause


async def test_a_start_without_a_required_input_is_refused_by_name_before_anything_is_done(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        refused = await failure(running, {})
        assert refused.type == "RunRefused"
        assert "goal is missing: a text (minLength 3)" in refused.message
        refused = await failure(running, {"goal": "rain", "summ": 1})
        assert "'summ' is not declared; declared: goal, mark, seen, sum" in refused.message


async def test_amendments_and_updates_keep_to_the_declarations(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Any = await running.start(DECLARED, {"goal": "rain"})
        first = await asked(env, handle)
        for updates, reason in (
            ({"sum": "many"}, "sum is a text, not a whole number"),
            ({"gaol": "x"}, "'gaol' is not declared"),
        ):
            with pytest.raises(WorkflowUpdateFailedError) as refused:
                await handle.execute_update("amend", {"updates": updates, "by": "ann"})
            assert isinstance(refused.value.cause, ApplicationError)
            assert refused.value.cause.type == "InvalidContext"
            assert reason in refused.value.cause.message
        await handle.execute_update("amend", {"updates": {"seen": [1, 2, 3]}, "by": "ann"})
        await handle.execute_update("decide", {"id": first, "decision": "approve", "by": "ann"})
        for _ in range(2):  # the third visit makes the sum too large
            id = await asked(env, handle)
            await handle.execute_update("decide", {"id": id, "decision": "approve", "by": "ann"})
        with pytest.raises(WorkflowFailureError) as failed:
            await handle.result()
        cause = failed.value.cause
        assert isinstance(cause, ApplicationError)
        assert cause.type == "InvalidContext"
        assert "sum is 6, not at most 5" in cause.message
        context: Json = cause.details[0]["context"]
        assert context["seen"] == ["fresh", "fresh"], "the latest two, each visit with its default"
        assert context["sum"] == 4
