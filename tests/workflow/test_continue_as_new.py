"""A long run continues as new at a step's boundary, and nothing of it is lost or done twice."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from temporalio.testing import WorkflowEnvironment

from coterie.wire import data_converter
from dsl.values import Json
from tests.support.engine import engine
from tests.support.project import BIN

LONG = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: {prompts: {user: "Number {{ number }}."}}
    long:
      execution_plan:
        - {name: begin, type: set, values: {sum: 0}}
        - name: rounds
          type: loop
          iterate_on: "{{ range(40) }}"
          loop_variable: number
          body:
            - {name: ask, agent_type: generic_single_shot, persona_key: writer}
            - {name: add, type: set, values: {sum: "{{ sum + number }}"}}
        - name: guarded
          type: try
          steps:
            - {name: not_now, type: set, values: {now: true}, when: "{{ false }}"}
            - {name: bad, type: fail, message: on purpose}
          catch: [{steps: [{name: caught, type: set, values: {caught: "{{ error.message }}"}}]}]
          finally: [{name: last, type: set, values: {last: true}}]
orchestration:
  entry_team: count
  teams:
    count:
      tasks:
        - {name: sign, type: approval, prompt: "Count?", deadline: 3d}
        - {name: all, agent_type: generic_orchestrating, persona_key: long}
      routing:
        rules:
          - condition: all_success
            next_team: null
            context_updates: {sum: "{{ tasks.all.data.sum }}"}
"""


@asynccontextmanager
async def suggesting_after(events: int) -> AsyncGenerator[WorkflowEnvironment]:
    """The real server, which suggests to continue as new after so many events."""
    setting = f"limit.historyCount.suggestContinueAsNew={events}"
    start: Any = WorkflowEnvironment.start_local  # pyright: ignore
    async with await start(
        dev_server_existing_path=str(BIN / "temporal"),
        dev_server_extra_args=["--dynamic-config-value", setting],
        data_converter=data_converter,
    ) as env:
        yield env


async def test_a_loop_goes_on_in_the_middle_over_many_histories(tmp_path: Path) -> None:
    answers: list[Json] = [{"task": "ask", "answer": "noted"}]
    async with suggesting_after(50) as env, engine(env, tmp_path, answers) as running:
        handle: Any = await running.start(LONG)
        first = (await handle.describe()).run_id
        for _ in range(200):
            if await handle.query("pending"):
                break
            await asyncio.sleep(0.05)  # between two looks
        await handle.execute_update(
            "decide", {"id": "count/sign#1", "decision": "approve", "by": "ann"}
        )
        result = cast("Json", await handle.result())
        assert result["context"] == {"sum": sum(range(40))}
        assert result["model_calls"] == 40
        assert cast("list[Any]", result["decisions"])[0]["by"] == "ann"
        histories = 0
        run_id: str | None = first
        while run_id:
            part = env.client.get_workflow_handle(handle.id, run_id=run_id)
            events = (await part.fetch_history()).events
            assert len(events) < 80
            histories += 1
            last = cast("Any", events[-1])
            run_id = last.workflow_execution_continued_as_new_event_attributes.new_execution_run_id
        assert histories > 3
