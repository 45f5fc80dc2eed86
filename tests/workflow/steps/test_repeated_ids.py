"""A service that knows calls by their keys does what each run asks for, whatever the run's id."""

import sys
from pathlib import Path
from uuid import uuid4

from temporalio.testing import WorkflowEnvironment

from coterie.activities.workspace.function_base import Command
from coterie.workflows.core.messages import TeamInput
from tests.support.engine import engine, plan_of
from tests.support.runs import Handle

SERVICE = """
import os, pathlib
paid = pathlib.Path(os.environ["COTERIE_CALL"].replace("/", "_"))
print("repeated" if paid.exists() else "paid")
paid.touch()
"""
PAY = Command("pay", (sys.executable, "-c", SERVICE), once=True)
PAYING = """
tools:
  pay: { skill: CommandRunner.run_once, description: Pays. }
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - { name: pay, type: tool, tool: pay, arguments: { command: pay } }
        - { name: order, type: tool, tool: pay, arguments: { command: pay, key: o17 } }
"""


async def test_a_service_swallows_no_call_of_the_next_run_with_the_same_id(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    given, id = TeamInput(plan=plan_of(PAYING)), f"run-{uuid4()}"
    async with engine(env, tmp_path, [], {"pay": PAY}) as running:
        for _ in range(2):
            run: Handle = await running.client.start_workflow(
                "TeamWorkflow", given, id=id, task_queue=running.queue
            )
            running.runs.append(run)
            paid = (await run.result())["output"]
            said = [paid[name]["output"] for name in ("pay", "order")]
            assert said == ["paid\n", "paid\n"]
