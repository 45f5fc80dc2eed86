"""A hundred branches, and `kill -9` of the worker while they are at work."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import cast

import pytest
import yaml
from temporalio.api.enums.v1 import EventType

from coterie.dsl.values import Json
from tests.support import fan_out
from tests.support.cli import asks
from tests.support.project import Project, project

RUN, BRANCHES = "spread-out", 100


async def reached(shop: Project, count: int) -> None:
    """Wait until the run's history has so many events."""
    handle = (await shop.client()).get_workflow_handle(RUN)
    while True:
        if (await handle.describe()).history_length >= count:
            return
        await asyncio.sleep(0.05)  # between two looks at what another process does


def asked(log: Path) -> Counter[str]:
    """How often each call of the model was answered."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return Counter(line["label"] for line in lines if line["event"] == "answered")


async def tried(shop: Project) -> list[int]:
    """The attempts of each call, as the history tells them."""
    history = await shop.history(RUN)
    return [
        event.activity_task_started_event_attributes.attempt
        for event in history.events
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED
    ]


@pytest.mark.timeout(240)
async def test_killed_twice_in_the_middle_it_comes_to_the_same_result(tmp_path: Path) -> None:
    answers, log = tmp_path / "answers.yml", tmp_path / "calls.jsonl"
    answers.write_text(yaml.safe_dump({"answers": fan_out.answers(BRANCHES, seconds=0.2)}))
    with project(tmp_path / "shop") as shop:
        provider = {"answers": str(answers), "log": str(log), "default_model": "demo"}
        shop.configure(
            llm_config={"default_provider": "scripted", "providers": {"scripted": provider}}
        )
        (shop.folder / "config" / "teams").mkdir(parents=True)
        team = fan_out.team(BRANCHES, patience="3s")
        (shop.folder / "config" / "teams" / "spread.yml").write_text(team)
        assert shop.coterie("server").returncode == 0
        worker = shop.begin("worker")
        begun = shop.coterie("start", "spread", "--id", RUN)
        assert begun.returncode == 0, begun.stderr
        for count in (110, 250):
            await reached(shop, count)
            worker.kill()
            worker.wait()
            worker = shop.begin("worker")
        request = f"b{fan_out.ASKS:03}/consent#1"
        await asks(shop, RUN, request)
        decided = shop.coterie("approve", RUN, request, "--by", "ada")
        assert decided.returncode == 0, decided.stderr
        handle = (await shop.client()).get_workflow_handle(RUN)
        result = cast("Json", await asyncio.wait_for(handle.result(), 120))
        context = cast("Json", result["context"])
        assert context["arrived"] == BRANCHES - 2
        assert context["failed"] == ["TeamFailed", "TeamFailed"]
        good = [n for n in range(BRANCHES) if n not in (fan_out.FAILS, fan_out.LATE)]
        assert context["parts"] == {f"p{n:03}": f"part {n}" for n in good}
        attempts = await tried(shop)
        again = sum(attempt - 1 for attempt in attempts)
        assert len(attempts) == BRANCHES
        assert asked(log).total() <= BRANCHES + again, "a recorded answer was asked for again"
