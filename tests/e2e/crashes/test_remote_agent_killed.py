"""`kill -9` of the worker while a remote agent works: the run asks for its task, and sends once."""

import asyncio
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from coterie.dsl.values import Json
from coterie.runs.run_client import Run
from tests.support.cli import asks
from tests.support.programs.a2a_agent import remote_agent
from tests.support.project import project

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


async def asked_for(run: Run) -> None:
    """Wait until an activity asks for the task: the first one that follows a failed one."""
    while True:
        described = await run.describe()
        pending = described.raw_description.pending_activities
        if described.history_length >= 11 and any(one.last_worker_identity for one in pending):
            return
        await asyncio.sleep(0.05)  # between two looks at what another process does


async def test_a_remote_agent_works_once_and_its_question_waits_in_the_run(tmp_path: Path) -> None:
    with remote_agent() as agent, project(tmp_path / "desk") as desk:
        (desk.folder / "team.yml").write_text(TEAM)
        port = urlsplit(agent.url).port
        section = {"server": agent.url, "agent": "jsonrpc", "description": "Paints."}
        web = {"private_hosts": [f"127.0.0.1:{port}"]}
        desk.configure(worker={"apis": {"painter": section}, "web": web})
        checked = desk.coterie("validate", "team.yml")
        assert checked.returncode == 0, checked.stdout + checked.stderr
        assert desk.coterie("server").returncode == 0
        worker = desk.begin("worker")
        started = desk.coterie("start", "team.yml", "--id", RUN)
        assert started.returncode == 0, started.stderr
        run = Run(await desk.client(), RUN)
        await asked_for(run)
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
