"""A call that brings the same result again is reported the third time, stopped the fifth."""

from pathlib import Path
from typing import Any

import pytest
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import Json
from tests.support.engine import engine, trail
from tests.support.runs import failure, scheduled

TEAM = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    thinker: {prompts: {user: "Think again."}}
    looper:
      execution_plan:
        - name: rounds
          type: loop
          until: "{{ n | default(0) >= 7 }}"
          max_iterations: 7
          MORE
          body:
            - {name: think, agent_type: generic_single_shot, persona_key: thinker}
            - {name: look, skill: Discovery.collect, input: {path: ".", pattern: "PATTERN"} LOOK}
            - {name: count, values: {n: "{{ n | default(0) + 1 }}"}}
orchestration:
  entry_team: a
  teams: {a: {tasks: [{name: work, agent_type: generic_orchestrating, persona_key: looper}]}}
"""
ANSWERS: list[Json] = [{"task": "think", "answer": "hm"}]


def team(more: str = "loop_variable: round", look: str = "") -> str:
    return TEAM.replace("MORE", more).replace("LOOK", look).replace(', pattern: "PATTERN"', "")


async def test_the_third_time_is_reported_and_the_fifth_is_not_made(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, ANSWERS) as running:
        handle = await running.start(team())
        error = await failure(handle)
        assert "RepeatedCall: Discovery.collect was called 4 times in this loop" in error.message
        calls = await scheduled(handle)
        assert [call["type"] for call in calls].count("call_function") == 4
        found = [call["input"].get("notices") for call in calls if call["type"] == "run_agent"]
        note = (
            "[Note: Discovery.collect was called {} times with the same arguments and gave the "
            "same result each time. Do something else.]"
        )
        assert found == [None, None, None, [note.format(3)], [note.format(4)]]
        [entry] = [entry for entry in await trail(handle) if entry.status == "repeated"]
        assert entry.because.startswith("Discovery.collect was called 3 times")


@pytest.mark.parametrize(
    ("more", "files"), [("repeated_calls: allow", False), ("loop_variable: round", True)]
)
async def test_calls_that_may_repeat_or_that_change_continue(
    env: WorkflowEnvironment, tmp_path: Path, more: str, files: bool
) -> None:
    """Another result is progress, although the arguments are the same."""
    text = team(more)
    if files:
        text = text.replace(
            "            - {name: count",
            "            - name: write\n"
            "              skill: AssetManager.process_action\n"
            '              input: {type: create, file_path: "f{{ round }}.txt", content: x}\n'
            "            - {name: count",
        )
    async with engine(env, tmp_path, ANSWERS) as running:
        handle = await running.start(text)
        result: Any = await handle.result()
        assert result["output"]["work"]["n"] == 7
