"""`kill -9` of the worker while a program waits at a call: no call is made twice."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.project import Project, project, until

RUN = "payday"
TEAM = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    clerk: { prompts: { user: Pay. }, tools: [code, pay], code_mode: true }
tools:
  code: { skill: Python.run }
  pay: { skill: CommandRunner.run_once, fixed: { command: pay }, requires_approval: true }
orchestration:
  entry_team: work
  teams: { work: { tasks: [{ name: act, persona_key: clerk }] } }
"""
PAYMENTS = 3
CODE = f"for number in range({PAYMENTS}):\n    await pay()\n'paid'"
ANSWERS = {
    "answers": [
        {
            "task": "act",
            "turn": 1,
            "tool_calls": [{"tool": "code", "arguments": {"code": CODE}}],
        },
        {"task": "act", "turn": 2, "contains": '"value":"paid"', "answer": "Done."},
    ]
}
PAY = "open('payments.txt', 'a').write('paid\\n')"


def paid(shop: Project) -> int:
    file = shop.folder / "payments.txt"
    return len(file.read_text().splitlines()) if file.exists() else 0


def asks(shop: Project, name: str) -> bool:
    return name in shop.coterie("pending", RUN).stdout


def approves(shop: Project, name: str) -> bool:
    return shop.coterie("approve", RUN, name, "--by", "ann").returncode == 0


@pytest.mark.timeout(300)
async def test_no_call_of_a_program_is_made_twice_when_its_worker_is_killed(
    tmp_path: Path,
) -> None:
    with project(tmp_path / "shop") as shop:
        (shop.folder / "pay.yml").write_text(TEAM)
        (shop.folder / "answers.yml").write_text(yaml.safe_dump(ANSWERS))
        command = {"run": ["{python}", "-c", PAY], "once": True}
        scripted = {"kind": "scripted", "answers": "answers.yml"}
        shop.configure(
            worker={"commands": {"pay": command}}, llm_config={"providers": {"scripted": scripted}}
        )
        assert shop.coterie("server").returncode == 0
        worker = shop.begin("worker")
        begun = shop.coterie("start", "pay.yml", "--id", RUN)
        assert begun.returncode == 0, begun.stderr
        for number in range(1, PAYMENTS + 1):
            name = f"work/act/code@1.1/pay@{number}.1#1"
            until(partial(asks, shop, name), f"the request {name}", 120)
            assert paid(shop) == number - 1
            worker.kill()
            worker.wait()
            worker = shop.begin("worker")
            until(partial(approves, shop, name), "the next worker", 120)
        until(lambda: paid(shop) == PAYMENTS, "the last payment")
        handle = (await shop.client()).get_workflow_handle(RUN)
        result: Any = await asyncio.wait_for(handle.result(), 120)
        assert result["output"] == {"act": {"text": "Done."}}
        assert paid(shop) == PAYMENTS
