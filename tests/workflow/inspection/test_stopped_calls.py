"""`coterie why` names what stopped a call."""

from pathlib import Path
from typing import Any

import pytest
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import Json
from coterie.inspection.trace import Trace
from coterie.inspection.why_text import run_text
from coterie.replay.rebuilt_run import Rebuilt, rebuilt
from tests.support.engine import engine

CALLING = """
tools:
  python: {skill: Python.run, timeout: 2s, retries: 0}
  calculator: {skill: Calculator.evaluate}
orchestration:
  entry_team: work
  context: {tool: {type: string, default: ""}, arguments: {type: object, default: {}}}
  teams:
    work:
      tasks:
        - name: one
          tool: "{{ context.tool }}"
          arguments: "{{ context.arguments }}"
          on_failure: continue
"""


@pytest.mark.parametrize(
    ("tool", "arguments", "shown"),
    [
        ("abacus", {}, "UnknownTool: there is no tool 'abacus'"),
        ("calculator", {"expression": 1}, "invalid input for Calculator.evaluate: expression"),
        ("python", {"code": "import os"}, "blocked"),
        (
            "python",
            {"code": "while True:\n    pass"},
            "Timeout: Python.run did not end within 2 s",
        ),
    ],
)
async def test_why_names_the_layer_that_stopped_a_call(
    env: WorkflowEnvironment, tmp_path: Path, tool: str, arguments: Json, shown: str
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Any = await running.start(CALLING, {"tool": tool, "arguments": arguments})
        await handle.result()
        seen = await rebuilt(await handle.fetch_history())
    assert isinstance(seen, Rebuilt), seen
    text = run_text(Trace("run", seen.trail, tuple(seen.visits.values())), "run")
    assert shown in text, text
