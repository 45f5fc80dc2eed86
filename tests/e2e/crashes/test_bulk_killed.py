"""`kill -9` of gateway and worker amid a bulk action: it goes on, and does nothing twice."""

import asyncio
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import httpx2
import pytest
from temporalio.api.enums.v1 import EventType

from coterie.dsl.model.sections.access_document import RoleName
from coterie.gateway.identity.program_tokens import create_token
from coterie.runs.new_runs import start_run
from coterie.runs.run_client import Run
from coterie.workflows.core.messages import TeamInput
from tests.support.cli import DESK
from tests.support.project import Project, project, until

TEAM = """
orchestration:
  entry_team: only
  teams: {only: {tasks: [{name: sign, type: approval, prompt: "Send?"}]}}
"""
RUNS = tuple(f"offer-{number}" for number in range(12))
"""More than an action takes at once."""
HELD = "held"
"""Nobody serves this one: the action waits for it."""
BEFORE_HELD = 3
ACCEPTED = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED


def gateway_of(shop: Project, token: str) -> tuple[Any, httpx2.AsyncClient]:
    """A gateway as a program of its own, and a client of it."""
    began = len(re.findall("open +http", log(shop)))
    process = shop.begin("serve", "--port", "0", "--no-browser", "--no-worker")
    until(lambda: len(re.findall("open +http", log(shop))) > began, "the gateway")
    address = re.findall(r"serving +(http://\S+);", log(shop))[-1]
    headers = {"Authorization": f"Bearer {token}"}
    return process, httpx2.AsyncClient(
        base_url=f"{address}/v1", headers=headers, timeout=60, trust_env=False
    )


def log(shop: Project) -> str:
    file = shop.folder / "serve.log"
    return file.read_text() if file.exists() else ""


async def choice_of(http: httpx2.AsyncClient, run: str) -> dict[str, object]:
    """One request as a person has seen it; of the run that nobody serves, none is seen."""
    found = (await http.get(f"/runs/{run}")).json()
    request: Mapping[str, object] = {"id": "only/sign#1", "digest": "0" * 64}
    while run != HELD:
        waiting = (await http.get("/requests", params={"run": run})).json()
        if waiting.get("requests"):
            request = waiting["requests"][0]["request"]
            break
        await asyncio.sleep(0.1)  # until the run asks
    seen = {"request": request["id"], "digest": request["digest"]}
    return {"run": run, "run_id": found["run_id"], "is_open": True, **seen}


async def outcomes(http: httpx2.AsyncClient, bulk: str, number: int) -> list[dict[str, Any]]:
    """The outcomes, once there are so many."""
    async with asyncio.timeout(120):
        while True:
            answer = await http.get(f"/bulk/{bulk}")
            if answer.is_success and len(answer.json()["outcomes"]) >= number:
                return answer.json()["outcomes"]
            await asyncio.sleep(0.1)  # until the worker has got so far


@pytest.mark.timeout(240)
async def test_a_bulk_outlives_its_gateway_and_its_worker_and_decides_each_request_once(
    tmp_path: Path,
) -> None:
    with project(tmp_path / "shop", sample=DESK) as shop:
        (shop.folder / "config/teams/offer.yml").write_text(TEAM)
        file = shop.folder / ".coterie/tokens.json"
        token = create_token(file, "desk", get_args(RoleName), ["*"], time.time(), 3_600)
        assert shop.coterie("server").returncode == 0
        worker, client = shop.begin("worker"), await shop.client()
        for run in (*RUNS, HELD):
            queue = "nobody" if run == HELD else "coterie"
            given = TeamInput(team="offer")
            await start_run(client, run, given, task_queue=queue, summary="offer")
        gateway, http = gateway_of(shop, token)
        async with http:
            order = [*RUNS[:BEFORE_HELD], HELD, *RUNS[BEFORE_HELD:]]
            choices = [await choice_of(http, run) for run in order]
            asked = {"action": "decide", "decision": "approve", "runs": choices}
            bulk = (await http.post("/bulk", json=asked)).json()["bulk"]
            assert len(await outcomes(http, bulk, BEFORE_HELD)) == BEFORE_HELD
        for process in (gateway, worker):
            process.kill()
            process.wait()
        await client.get_workflow_handle(HELD).terminate()
        shop.begin("worker")
        gateway, http = gateway_of(shop, token)
        async with http:
            came = {one["run"]: one for one in await outcomes(http, bulk, len(order))}
        assert came[HELD]["effect"] == "refused", came[HELD]
        assert "ended" in came[HELD]["because"], came[HELD]
        for run in RUNS:
            assert (came[run]["effect"], came[run]["because"]) == ("done", "approved"), came[run]
            events = (await Run(client, run).history()).events
            assert [event.event_type for event in events].count(ACCEPTED) == 1, run
