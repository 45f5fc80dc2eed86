"""`kill -9` of workers and server around a command of more than ten minutes: it goes on."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from tests.support.project import Project, project, until

BUILD = """
import os, time
with open("ledger", "a") as file:
    print("begun", file=file)
while not os.path.exists("free"):
    time.sleep(0.05)
print("built")
"""
TEAM = """
tools: { build: { skill: CommandRunner.run_once, fixed: { command: build } } }
orchestration:
  entry_team: only
  teams:
    only:
      tasks:
        - { name: build, tool: build, arguments: {} }
"""
RUN = "patient"


async def asked_for(shop: Project) -> None:
    """Wait until an activity asks for the call: the first one that follows a failed one."""
    handle = (await shop.client()).get_workflow_handle(RUN)
    while True:
        described = await handle.describe()
        pending = described.raw_description.pending_activities
        if described.history_length >= 11 and any(one.last_worker_identity for one in pending):
            return
        await asyncio.sleep(0.05)  # between two looks at what another process does


@pytest.mark.timeout(240)
async def test_a_long_command_goes_on_without_its_worker_and_is_not_begun_again(
    tmp_path: Path,
) -> None:
    with project(tmp_path / "shop") as shop:
        (shop.folder / "build.py").write_text(BUILD)
        (shop.folder / "team.yml").write_text(TEAM)
        build = {"run": ["{python}", "build.py"], "timeout": "20m", "once": True}
        shop.configure(worker={"commands": {"build": build}})
        assert shop.coterie("server").returncode == 0
        worker = shop.begin("worker")
        started = shop.coterie("start", "team.yml", "--id", RUN)
        assert started.returncode == 0, started.stderr
        ledger = shop.folder / "ledger"
        await asyncio.to_thread(until, ledger.exists, "the command")
        await asked_for(shop)
        worker.kill()
        worker.wait()
        shop.kill_server()
        (shop.folder / "free").touch()
        shop.begin("worker")
        handle = (await shop.client()).get_workflow_handle(RUN)
        result = cast("dict[str, Any]", await asyncio.wait_for(handle.result(), 120))
        assert ledger.read_text() == "begun\n"
    assert (result["end"], result["output"]["build"]["output"]) == ("completed", "built\n")
