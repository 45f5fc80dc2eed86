"""A call that continues as a task, although nobody waits for it any more, ends the task."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from temporalio.testing import WorkflowEnvironment

from activities.contracts import FailureType
from activities.workspace.skill_base import Skill, SkillContext, SkillRefusal
from dsl.compile.compiler import compile_sources
from dsl.compile.merged_sources import SourceText
from dsl.model.plan import Plan
from dsl.model.tools.asked_input import AskedInput, ServerTask
from dsl.values import JsonValue
from tests.support.engine import CAPABILITIES, engine, trail
from workflows.core.messages import SkipInput

PATIENCE = 60.0
TEAM = """
tools: {build: {skill: Test.build}}
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - name: first
          type: parallel
          join: any
          branches:
            signalled: [{name: wake, type: wait, signal: woken}]
            built: [{name: make, tool: build, arguments: {}}]
        - {name: after, type: wait, signal: finished}
"""


@dataclass
class Builder:
    """A tool that continues its call as a task in the moment in which the call is cancelled."""

    begun: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    looks: int = 0

    async def build(self, value: dict[str, JsonValue], context: SkillContext) -> None:
        given = context.given_input
        if given is not None and given.asked.task is not None:
            if given.asked.task.unwanted:
                self.ended.set()
            else:
                self.looks += 1
            return
        self.begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            task = AskedInput(task=ServerTask(id="t-1"))
            raise SkillRefusal("goes on", FailureType.INPUT_REQUIRED, task) from None

    def skill(self) -> Skill[Any, Any]:
        return Skill[dict[str, JsonValue], None](
            name="Test.build",
            description="Builds.",
            effect="once",
            input=TypeAdapter(dict[str, JsonValue]),
            output=TypeAdapter(type(None)),
            run=self.build,
        )


def plan_with(skill: Skill[Any, Any]) -> Plan:
    skills = {**CAPABILITIES.skills, skill.name: skill.contract()}
    capabilities = CAPABILITIES.model_copy(update={"skills": skills})
    return compile_sources([SourceText("test.yml", TEAM)], capabilities, name="test").plan


@pytest.mark.parametrize("way", ["lost", "skipped"])
async def test_a_task_that_begins_too_late_is_ended_and_nobody_asks_for_it(
    env: WorkflowEnvironment, tmp_path: Path, way: str
) -> None:
    builder = Builder()
    functions = {"Test.build": builder.skill()}
    async with engine(env, tmp_path, [], functions=functions, everything=False) as running:
        handle: Any = await running.start(plan_with(functions["Test.build"]))
        await asyncio.wait_for(builder.begun.wait(), PATIENCE)
        if way == "lost":
            await handle.signal("woken")
        else:
            await handle.execute_update("skip", SkipInput(task="make", by="ann"))
        await asyncio.wait_for(builder.ended.wait(), PATIENCE)
        assert (await handle.query("status"))["state"] in ("running", "waiting")
        await handle.signal("woken")
        await handle.signal("finished")
        output = (await handle.result())["output"]["first"]
        statuses = [one.status for one in await trail(handle) if one.step == "first/built/make"]
    assert builder.looks == 0
    assert output["built"]["status"] == ("cancelled" if way == "lost" else "skipped")
    # of a call that may happen only once, whose result nobody saw: its outcome is unknown
    assert statuses == ["started", "failure" if way == "lost" else "skipped"]
