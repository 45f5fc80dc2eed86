"""Pages and streams over a real server: a long run on demand, and no event by whoever watches."""

import asyncio
import re
from typing import cast

import pytest
from fastapi import FastAPI
from starlette.routing import Route

from coterie.gateway.app import streams_of
from coterie.gateway.console.long_runs import run_extent
from coterie.gateway.operations.operations_table import OPERATIONS
from coterie.gateway.streams.event_stream import EventStream, StreamRequest
from coterie.gateway.streams.stream_hub import StreamHub
from tests.support.gateway import ALL, begun, client_of, described, waiting
from tests.support.project import Project


async def page_when(app: object, path: str, words: str) -> str:
    """The page at an address, once it has some words."""
    async with client_of(app, ALL) as http, asyncio.timeout(60):
        while words not in (answer := await http.get(path)).text:
            assert answer.status_code in (200, 503), answer.text
            await asyncio.sleep(0.1)  # until the run has answered, or is replayed
        return answer.text


async def test_a_long_run_opens_from_its_newest_end_with_the_rest_on_demand(
    app: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_extent, "MIN_EVENTS", 1)
    run = await begun(app, "offer", amount=3)
    await waiting(app, run)
    page = await page_when(app, f"/runs/{run}", "Proved bounds")
    assert "A long run" in page
    assert "Send?" in page, "what waits"
    assert "in 1 history" in page
    (history,) = set(re.findall(r'href="(/runs/[^"]+\?history=[^"]+)"', page))
    whole = await page_when(app, history, "This is history 1 of 1")
    assert 'id="effects"' in whole
    assert "first#1" in whole
    await page_when(app, f"/runs/{run}?whole=1", 'class="overview"')
    async with client_of(app, ALL) as http:
        for query, status in (("history=nothing", 404), ("before=nothing", 422)):
            assert (await http.get(f"/runs/{run}?{query}")).status_code == status
        columns = (await http.get(f"/v1/runs/{run}/timeline")).json()
    assert columns["is_whole"]
    assert columns["read"] == columns["events"] > 0


async def events_of(served: Project, *runs: str) -> list[int]:
    client = await served.client()
    handles = [client.get_workflow_handle(run) for run in runs]
    return [(await handle.describe()).history_length or 0 for handle in handles]


async def view(hub: StreamHub, run: str) -> None:
    """Follow a run from its first event until it has nothing more."""
    count = 0
    messages = EventStream(hub, StreamRequest((run,), whole=True)).messages()
    async for message in messages:
        count += b"event: history" in message
        if (count and b"event: calls" in message) or count == 3:
            break
    await messages.aclose()


async def test_whoever_watches_adds_no_event_to_a_history(
    app: object, served: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended, talk = await begun(app, "chore"), await begun(app, "talk")
    asking = await begun(app, "offer", amount=3)
    await described(app, ended, "completed")
    await waiting(app, asking)
    runs = (ended, talk, asking)
    async with client_of(app, ALL) as http:
        await http.post(f"/v1/runs/{talk}/message", json={"message": "hello"})
    before = await events_of(served, *runs)
    application = cast("FastAPI", app)
    pages = [route.path for route in application.router.routes
             if isinstance(route, Route) and "{run" in route.path
             and "GET" in (route.methods or ()) and not route.path.startswith("/v1")]  # fmt: skip
    assert "/runs/{run:path}" in pages, "and that of a session, and others"
    for least in (run_extent.MIN_EVENTS, 1):
        monkeypatch.setattr(run_extent, "MIN_EVENTS", least)
        for run in runs:
            for path in pages:
                await page_when(app, re.sub(r"{run[^}]*}", run, path), "<h1>")
    async with client_of(app, ALL) as http:
        for operation in OPERATIONS:
            if not operation.changes_something and operation.about == "run":
                params = {"other": ended} if operation.name == "compare" else {}
                path = operation.path.replace("{run}", talk)
                await http.get(f"/v1{path}", params=params)
        assert (await http.get("/inbox")).status_code == 200
    hub = streams_of(application)
    async with asyncio.timeout(30):
        await asyncio.gather(*(view(hub, run) for run in runs for _ in range(5)))
    assert await events_of(served, *runs) == before
