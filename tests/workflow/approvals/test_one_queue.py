"""One mechanism for every question to a person, so one queue shows them all."""

import asyncio
from pathlib import Path

from temporalio.testing import WorkflowEnvironment

from tests.support.engine import engine
from tests.support.runs import Handle

TEAM = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: {prompts: {user: "Write."}}
    clerk:
      prompts: {}
      execution_plan: [{name: keep, tool: note, arguments: {content: one}}]
tools:
  note:
    skill: AssetManager.process_action
    fixed: {type: create, file_path: a.txt}
    requires_approval: true
orchestration:
  entry_team: all
  teams:
    all:
      tasks:
        - name: ways
          type: parallel
          branches:
            person: [{name: asks, type: approval, prompt: "Well?"}]
            agent:
              - {name: write, agent_type: generic_single_shot, persona_key: writer,
                 requires_approval: true}
            tool: [{name: file_it, agent_type: generic_orchestrating, persona_key: clerk}]
            failed:
              - {name: fill, type: set, values: {said: "{{ context.word }}"}, on_failure: ask}
"""
FAILED = "all/ways/failed/fill/failed#1"
REQUESTS = [
    "all/ways/person/asks#1",
    "all/ways/agent/write#1",
    "all/ways/tool/file_it/keep#1",
    FAILED,
]


async def pending(handle: Handle) -> set[str]:
    return {request["id"] for request in await handle.query("pending")}


async def test_one_queue_shows_what_steps_agents_tools_and_failures_ask(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, [{"task": "write", "answer": "Dear all"}]) as running:
        handle: Handle = await running.start(TEAM)
        async with asyncio.timeout(120):
            while await pending(handle) != set(REQUESTS):  # noqa: ASYNC110  # the worker makes it so
                await asyncio.sleep(0.05)
        for id in REQUESTS[:-1]:
            await handle.execute_update("decide", {"id": id, "decision": "approve", "by": "ann"})
        await handle.execute_update("skip", {"task": "fill", "by": "ann"})
        result = await handle.result()
        assert [one["id"] for one in result["decisions"]] == REQUESTS
        assert (tmp_path / "a.txt").read_text() == "one"
