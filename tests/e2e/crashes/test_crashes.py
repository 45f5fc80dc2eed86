"""`kill -9` of the worker and of the server: the run ends as if nothing had happened."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowHistory

from coterie.dsl.values import Json
from coterie.failures import CommandError
from coterie.runs.run_client import Run
from tests.support.project import Project, project, until
from tests.support.servers.development_model import calls, play
from tests.support.servers.model_server import ModelServer

RUN = "survivor"
KILLS = (15, 50, 85, 110)
"""Events of the history at which the worker dies: before and after the approval, and while what
was made is tested. `make chaos` kills at random, and as often as the test asks."""
CONTEXT = '{"requirement": "The totals of the invoices are wrong.", "project": "."}'


def configured(shop: Project, server: ModelServer) -> None:
    """A worker that asks the model server."""
    provider = {"api_base": server.openai_url, "default_model": "stand-in"}
    shop.configure(llm_config={"default_provider": "openai", "providers": {"openai": provider}})


async def events(shop: Project) -> int:
    """How far the run's history has come."""
    handle = (await shop.client()).get_workflow_handle(RUN)
    return (await handle.describe()).history_length


async def reached(
    shop: Project, count: int, meanwhile: Callable[[], Awaitable[bool]] | None = None
) -> None:
    """Wait until the history has so many events, and do something until it succeeds."""
    done = meanwhile is None
    while await events(shop) < count:  # another process makes it so
        done = done or (meanwhile is not None and await meanwhile())
        await asyncio.sleep(0.05)


def attempts(history: WorkflowHistory) -> dict[str, int]:
    """`{activity id: attempts}` of every model call that was completed."""
    names: dict[int, str] = {}
    tried: dict[str, int] = {}
    for event in cast("list[Any]", history.events):
        scheduled = event.activity_task_scheduled_event_attributes
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
            if scheduled.activity_type.name == "run_agent":
                names[event.event_id] = scheduled.activity_id
        elif event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED:
            started = event.activity_task_started_event_attributes
            if started.scheduled_event_id in names:
                tried[names[started.scheduled_event_id]] = started.attempt
    return tried


async def finished(shop: Project) -> Json:
    """The result of the run, once it has one."""
    handle = (await shop.client()).get_workflow_handle(RUN)
    return cast("Json", await asyncio.wait_for(handle.result(), 120))


def expect_the_usual_end(shop: Project, result: Json) -> None:
    """What an undisturbed run comes to."""
    assert result["end"] == "completed"
    assert result["visits"] == {
        "discovery": 1,
        "solution": 1,
        "approval": 1,
        "engineering": 2,
        "test_automation": 2,
        "implementation_review": 2,
        "correction": 1,
    }
    assert "ROUND_HALF_UP" in (shop.folder / "invoicing" / "money.py").read_text()
    assert "quantity >= pieces" in (shop.folder / "invoicing" / "discounts.py").read_text()


def start(shop: Project) -> None:
    begun = shop.coterie("start", "development", "--id", RUN, "--context", CONTEXT)
    assert begun.returncode == 0, begun.stderr


async def approve_when_asked(shop: Project) -> bool:
    """Approve what waits; nothing waits yet, or its worker is dead, when False."""
    try:
        waiting = await Run(await shop.client(), RUN).pending()
    except CommandError:
        return False
    if not waiting:
        return False
    return shop.coterie("approve", RUN, "--by", "ann", "--comment", "Go.").returncode == 0


@pytest.mark.timeout(420)
async def test_a_worker_killed_again_and_again_repeats_no_call_whose_result_was_recorded(
    tmp_path: Path,
) -> None:
    server = ModelServer.start(tmp_path)
    play(server)
    server.chaos(latencyMs=400)
    with project(tmp_path / "shop", {"OPENAI_API_KEY": "of-the-stand-in"}) as shop:
        configured(shop, server)
        assert shop.coterie("server").returncode == 0
        worker = shop.begin("worker")
        start(shop)
        for count in KILLS:
            await reached(shop, count, lambda: approve_when_asked(shop))
            worker.kill()
            worker.wait()
            worker = shop.begin("worker")
        result = await finished(shop)
        expect_the_usual_end(shop, result)
        tried = attempts(await shop.history(RUN))
        asked = calls(server)
        assert len(tried) == len(asked) == 8
        in_flight_at_a_kill = sum(more - 1 for more in tried.values())
        assert asked.total() <= 8 + in_flight_at_a_kill
        assert sum(count > 1 for count in asked.values()) <= sum(n > 1 for n in tried.values())
        assert in_flight_at_a_kill <= len(KILLS)
    server.stop()


@pytest.mark.timeout(240)
async def test_a_killed_server_comes_back_and_the_run_goes_on(tmp_path: Path) -> None:
    server = ModelServer.start(tmp_path)
    play(server)
    server.chaos(latencyMs=400)
    with project(tmp_path / "shop", {"OPENAI_API_KEY": "of-the-stand-in"}) as shop:
        configured(shop, server)
        assert shop.coterie("server").returncode == 0
        before = shop.server["pid"]
        shop.begin("worker")
        start(shop)
        await reached(shop, 60, lambda: approve_when_asked(shop))
        shop.kill_server()
        until(lambda: shop.server["pid"] != before, "another server")
        result = await finished(shop)
        expect_the_usual_end(shop, result)
        assert calls(server).total() <= 8 + 1
    server.stop()
