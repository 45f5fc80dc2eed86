"""`kill -9` of the worker while a remote agent works: the run asks for its task, and sends once."""

import asyncio
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import yaml
from temporalio.api.enums.v1 import EventType

from coterie.dsl.values import Json
from coterie.runs.run_client import Run
from tests.support.cli import asks
from tests.support.programs.a2a_agent import RemoteAgentServer, remote_agent
from tests.support.project import Project, project

TEAM = """
tools: { paint: { api: painter/message } }
orchestration:
  entry_team: only
  teams:
    only:
      tasks:
        - { name: paint, tool: paint, arguments: { text: think, data: { size: 3 } } }
"""
RUN = "painted"
REQUEST = "only/paint/input#1"


MODEL = """
tools: { paint: { api: painter/message, requires_approval: { approvers: [ann] } } }
llm_config:
  default_provider: scripted
  personas: { actor: { tools: [paint], prompts: { user: Have it painted. } } }
orchestration:
  entry_team: only
  teams: { only: { tasks: [{ name: act, persona_key: actor }] } }
"""
LARGE = 2**53 + 1
ANSWERS: list[Json] = [
    {
        "task": "act",
        "turn": 1,
        "tool_calls": [{"tool": "paint", "arguments": {"text": "think", "data": {"size": 3}}}],
    },
    {
        "task": "act",
        "turn": 2,
        "contains": "understood",
        "tool_calls": [{"tool": "paint", "arguments": {"data": {"order": [LARGE]}}}],
    },
    {"task": "act", "turn": 3, "contains": "`data.order[0]` is beyond", "answer": "It is blue."},
]


async def asked_for(desk: Project) -> None:
    """Wait until an activity asks for the task: the first one that follows a failed one."""
    handle: Any = (await desk.client()).get_workflow_handle(RUN)
    while True:
        pending = (await handle.describe()).raw_description.pending_activities
        kinds = [event.event_type for event in (await handle.fetch_history()).events]
        has_failed = EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED in kinds
        if has_failed and any(one.last_worker_identity for one in pending):
            return
        await asyncio.sleep(0.05)  # between two looks at what another process does


def configure(desk: Project, agent: RemoteAgentServer, team: str) -> None:
    """Let the project call the agent, and start its server."""
    (desk.folder / "team.yml").write_text(team)
    (desk.folder / "said.yml").write_text(yaml.safe_dump({"answers": ANSWERS}))
    port = urlsplit(agent.url).port
    section = {"server": agent.url, "agent": "jsonrpc", "description": "Paints."}
    web = {"private_hosts": [f"127.0.0.1:{port}"]}
    scripted = {"scripted": {"default_model": "demo", "answers": "said.yml"}}
    desk.configure(
        worker={"apis": {"painter": section}, "web": web}, llm_config={"providers": scripted}
    )
    checked = desk.coterie("validate", "team.yml")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert desk.coterie("server").returncode == 0


async def test_a_remote_agent_works_once_and_its_question_waits_in_the_run(tmp_path: Path) -> None:
    with remote_agent() as agent, project(tmp_path / "desk") as desk:
        configure(desk, agent, TEAM)
        worker = desk.begin("worker")
        started = desk.coterie("start", "team.yml", "--id", RUN)
        assert started.returncode == 0, started.stderr
        run = Run(await desk.client(), RUN)
        await asked_for(desk)
        worker.kill()
        worker.wait()
        desk.begin("worker")
        agent.may_ask.set()
        await asks(desk, RUN, REQUEST)
        (asked,) = await run.pending()
        assert "Which colour?" in asked.prompt
        decided = desk.coterie("approve", RUN, "--payload", '{"answer": "blue"}')
        assert decided.returncode == 0, decided.stderr
        end = await run.end()
        assert end.result is not None, end
        assert isinstance(end.result.output, dict)
        painted = cast("Json", end.result.output["paint"])
        assert painted["text"] == "understood"
        assert painted["data"] == [{"said": "blue", "given": [], "number": 7}]
        first, second = agent.messages
        assert (first.parts[0].text, second.parts[0].text) == ("think", "blue")
        assert first.message_id.startswith(f"{RUN}/")


async def test_a_remote_agent_as_the_tool_of_a_model_waits_for_its_approval_and_works_once(
    tmp_path: Path,
) -> None:
    with remote_agent() as agent, project(tmp_path / "desk") as desk:
        configure(desk, agent, MODEL)
        worker = desk.begin("worker")
        started = desk.coterie("start", "team.yml", "--id", RUN)
        assert started.returncode == 0, started.stderr
        run = Run(await desk.client(), RUN)
        await asks(desk, RUN, "only/act/paint@1.1#1")
        assert agent.messages == []
        approve = ("approve", RUN, "--by", "ann")
        assert desk.coterie(*approve).returncode == 0
        await asked_for(desk)
        worker.kill()
        worker.wait()
        desk.begin("worker")
        agent.may_ask.set()
        await asks(desk, RUN, "only/act/paint@1.1/input#1")
        (asked,) = await run.pending()
        assert ("Which colour?" in asked.prompt, asked.approvers) == (True, ("ann",))
        assert desk.coterie(*approve, "--payload", '{"answer": "blue"}').returncode == 0
        await asks(desk, RUN, "only/act/paint@2.1#1")
        assert desk.coterie(*approve).returncode == 0
        end = await run.end()
        assert end.result is not None, end
        assert end.result.output == {"act": {"text": "It is blue."}}
        first, second = agent.messages
        assert (first.parts[0].text, second.parts[0].text) == ("think", "blue")
        assert first.task_id == second.task_id
        assert first.message_id.startswith(f"{RUN}/")
