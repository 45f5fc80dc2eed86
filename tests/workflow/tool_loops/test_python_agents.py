"""An agent of a program runs on Temporal as it does in the program."""

import uuid
from pathlib import Path
from typing import Any

import pytest
import yaml
from temporalio.testing import WorkflowEnvironment

from coterie.activities.tool_functions.functions.python_functions import PythonFunction, find_tools
from coterie.activities.user_code.child_pool import UserCode
from coterie.agents import AgentAnswer, AgentFactory, DurableRun, SharedMemoryGraph
from coterie.dsl.values import Json
from coterie.runs.run_client import Run
from coterie.storage.wire import data_converter
from coterie.workflows.core.messages import TeamInput
from tests.law.sources import ROOT
from tests.support.engine import engine, trail
from tests.support.programs.python_agents import PlainAgent, PlannerAgent, around, asks, says

SCRIPT: list[Json] = [
    asks("planner", 1, ("forecast", {"city": "Rome"}), ("scout", {"query": "Rome?"})),
    asks("scout", 1, ("forecast", {"city": "Atlantis"})),
    says("scout", "Only Rome.", turn=2, contains="Atlantis has no weather"),
    asks("planner", 2, ("guide", {"query": "one"}), ("guide", {"query": "two"})),
    says("guide", "first", turn=1, contains="[From scout: Only Rome.]"),
    says("guide", "second", turn=2, contains="one"),
    says("planner", {"days": 3}, turn=3, contains="second"),
]
ANSWER: Json = {
    "type": "object",
    "properties": {"days": {"type": "integer"}},
    "required": ["days"],
    "additionalProperties": False,
}


def factory() -> AgentFactory:
    made = AgentFactory({"provider": "scripted", "model": "demo"})
    made.with_memory_graph(SharedMemoryGraph().add_edge("scout", "guide"))
    exposed: dict[str, Any] = {"expose_as_subagent": True, "subagent_description": "Helps."}
    made.register("scout", PlannerAgent, **exposed, defaults={"system_message": "You scout."})
    made.register("guide", PlainAgent, **exposed, stateless=False)
    return made.register("planner", PlannerAgent, defaults={"output_schema": ANSWER})


async def test_the_same_agent_gives_the_same_result_in_the_process_and_on_temporal(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    context = around(tmp_path, *SCRIPT)
    planner = factory().create("planner", subagents=["scout", "guide"])
    here = await planner.run("Where?", context=context)
    assert (here.status, here.data) == ("completed", {"days": 3}), here.error

    code = UserCode(tmp_path, {}, (str(ROOT),))
    try:
        found = await find_tools(code, ["tests.support.programs.weather_tools"])
        functions = {one.name: PythonFunction(one, code) for one in found}
        async with engine(env, tmp_path, SCRIPT, functions=functions) as running:
            plan = planner.durable(context).plan
            handle: Any = await running.start(plan, {"query": "Where?"})
            there = await DurableRun(Run(running.client, handle.id), "planner").result()
            entries = await trail(handle)
    finally:
        await code.close()
    assert there == AgentAnswer(*(getattr(here, name) for name in AgentAnswer._fields))
    made = [entry.step for entry in entries if entry.event == "tool_start"]
    assert sorted(filter(None, made)) == sorted(call.step for call in here.tool_history)


async def test_a_failed_run_ends_the_same_way_in_both_places(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    agent = PlainAgent(agent_id="plain", provider="scripted", model="demo")
    here = await agent.run("Where?", context=around(tmp_path))
    async with engine(env, tmp_path, []) as running:
        handle: Any = await running.start(agent.durable(around(tmp_path)).plan, {"query": "?"})
        there = await DurableRun(Run(running.client, handle.id), "plain").result()
    assert (there.status, there.error_type, there.text) == (here.status, here.error_type, "")
    assert there.error is not None
    assert "has no answer for 'plain/plain#1.0'" in there.error


@pytest.mark.parametrize(
    ("worker", "sent", "marked"),
    [
        ("accept_plans: true", "plan", False),
        ("accept_plans: true, search_attributes: true", "plan", True),
        ("accept_plans: true, event_groups: true", "plan", True),
        ("accept_plans: false, search_attributes: true", "document", False),
        ("tool_env: []", "document", False),
    ],
)
async def test_start_sends_what_the_workers_of_the_project_accept(
    env: WorkflowEnvironment,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    worker: str,
    sent: str,
    marked: bool,
) -> None:
    (tmp_path / "coterie.yml").write_text(f"worker: {{{worker}}}\n")
    monkeypatch.setenv("COTERIE_ADDRESS", env.client.service_client.config.target_host)
    monkeypatch.setenv("COTERIE_TASK_QUEUE", "agents")
    agent = PlainAgent(agent_id="plain", provider="scripted", model="demo")
    context, id = around(tmp_path), f"plain-{uuid.uuid4()}"
    run = await agent.start("Where?", id=id, context=context)
    handle = env.client.get_workflow_handle(id)
    begun = (await handle.fetch_history()).events[0].workflow_execution_started_event_attributes
    await handle.terminate()
    (given,) = await data_converter.decode(begun.input.payloads, [TeamInput])
    assert (run.id, begun.task_queue.name) == (id, "agents")
    assert (given.context, given.marked) == ({"query": "Where?"}, marked)
    if sent == "plan":
        assert (given.plan, given.document) == (agent.durable(context).plan, None)
    else:
        assert given.plan is None
        assert given.document == agent.to_yaml(context)
        assert yaml.safe_load(given.document)["name"] == "plain"
