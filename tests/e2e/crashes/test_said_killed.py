"""`kill -9` of the worker between what a person says and the turn that reads it: read once."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.project import project, until
from tests.support.runs import scheduled
from tests.workflow.tool_loops.test_steered_turns import ANSWERS, ONE

RUN = "steered"
REQUEST = "shop/order/add@1.1#1"


@pytest.mark.timeout(300)
async def test_what_a_person_said_is_read_once_though_the_worker_is_killed(tmp_path: Path) -> None:
    with project(tmp_path / "shop") as shop:
        (shop.folder / "order.yml").write_text(ONE)
        (shop.folder / "answers.yml").write_text(yaml.safe_dump({"answers": ANSWERS}))
        scripted = {"kind": "scripted", "answers": "answers.yml"}
        shop.configure(llm_config={"providers": {"scripted": scripted}})
        assert shop.coterie("server").returncode == 0
        worker = shop.begin("worker")
        begun = shop.coterie("start", "order.yml", "--id", RUN)
        assert begun.returncode == 0, begun.stderr
        until(lambda: REQUEST in shop.coterie("pending", RUN).stdout, "the request", 120)
        told = shop.coterie("say", RUN, "Use PostgreSQL.", "--by", "ben")
        assert told.returncode == 0, told.stderr
        worker.kill()
        worker.wait()
        shop.begin("worker")
        approve = partial(shop.coterie, "approve", RUN, REQUEST, "--by", "ann")
        until(lambda: approve().returncode == 0, "the next worker", 120)
        handle = (await shop.client()).get_workflow_handle(RUN)
        result: Any = await asyncio.wait_for(handle.result(), 120)
        assert result["output"] == {"order": {"text": "PostgreSQL."}}
        turns = [one["input"] for one in await scheduled(handle) if one["type"] == "run_agent"]
        assert [turn.get("said") for turn in turns] == [None, ["Use PostgreSQL."]]
