"""What the page of a long run costs: `python -m bench.console_page`.

A real run of 10,000 steps (about 60,000 events over several continue-as-new) on a dev server, and a
gateway in this process. Its CPU is that of this process; the first paint is that of Chromium, where
there is one. The memory of 100 viewers is measured over ten such runs that a stand-in serves.
"""

import argparse
import asyncio
import importlib
import importlib.util
import json
import re
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import uvicorn
from starlette.requests import Request
from temporalio.client import Client

from bench import team
from bench.event_streams import memory
from bench.long_histories import Histories, long_pages, long_run
from bench.stage import stage
from coterie.gateway.app import application
from coterie.gateway.console.console_routes import console_routes
from coterie.gateway.console.long_runs.newest_calls import calls_before
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.streams.event_stream import EventStream, StreamRequest
from coterie.gateway.streams.stream_hub import StreamHub
from coterie.gateway.timelines.run_timelines import RunTimelines
from coterie.server.connection import Connection, connect
from coterie.settings import load
from coterie.storage.wire import data_converter
from coterie.workflows.core.messages import TeamInput
from tests.doors.browser import chromium
from tests.support.gateway import ALL

_RUN = "long"
_RUNS = 10
_VIEWERS = 100
_LOADS = 5
_PAINTS = """() => Object.fromEntries(performance.getEntriesByType("paint")
  .map((entry) => [entry.name, entry.startTime]))"""


@dataclass(frozen=True, slots=True)
class PageFigures:
    """What was measured."""

    events: int
    histories: int
    opening_cpu: float
    """CPU seconds from the request to the page with the newest 200 calls; the first one."""
    again_cpu: float
    """The same once the gateway knows the run."""
    page_kilobytes: float
    older_cpu: float
    """Of a page of older calls."""
    whole_cpu: float
    """CPU seconds to the bars of the whole run."""
    whole_again_cpu: float
    history_cpu: float
    """CPU seconds of the page of one history, which is replayed."""
    added_events: int
    """Of the run's histories, by all of this."""
    first_paint_ms: tuple[float, ...]
    """First contentful paint of some loads; empty without Chromium."""
    drawn_ms: float | None
    """From the load to the picture of the whole run, which the gateway has read before."""
    viewers_megabytes: float
    """Added by 100 viewers of ten such runs, with the rows and the pictures of all."""


async def anyone(_: Request) -> Identity:
    """Everybody may do everything here."""
    return ALL


async def finished_run(address: str, queue: str, steps: int) -> None:
    """Run so many steps."""
    client = await Client.connect(address, identity="bench", data_converter=data_converter)
    given = TeamInput(plan=team.plan(steps), context=team.context())
    handle = await client.start_workflow("TeamWorkflow", given, id=_RUN, task_queue=queue)
    began = time.perf_counter()
    await handle.result()
    print(f"{steps} steps in {time.perf_counter() - began:.0f} s", file=sys.stderr)


@asynccontextmanager
async def served(address: str) -> AsyncGenerator[str]:
    """A gateway in this process; yields its address."""
    with TemporaryDirectory() as folder:
        settings = load({"COTERIE_ADDRESS": address}, Path(folder))
        access = RunAccess(settings, Connection(await connect(settings, address), address, None))
        app = application(access, anyone, console_routes(access))
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
        serving = asyncio.create_task(server.serve())
        while not server.started:  # noqa: ASYNC110  # uvicorn has no event for it
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
        server.should_exit = True
        await serving


async def cost(http: httpx2.AsyncClient, path: str) -> tuple[float, str]:
    """Return the CPU seconds of a request, with those of this client, and its answer."""
    began = time.process_time()
    answer = await http.get(path)
    assert answer.status_code in (200, 503), answer.text[:500]
    return time.process_time() - began, answer.text


async def whole_cost(http: httpx2.AsyncClient) -> float:
    """Return the CPU seconds to the bars of the whole run."""
    total, is_whole = 0.0, False
    while not is_whole:
        spent, text = await cost(http, f"/v1/runs/{_RUN}/timeline")
        total, is_whole = total + spent, json.loads(text)["is_whole"]
    return total


async def history_cost(http: httpx2.AsyncClient, page: str) -> float:
    """Return the CPU seconds of the page of the latest history."""
    found = re.search(r'href="(/runs/[^"]+\?history=[^"]+)"', page)
    assert found is not None
    total, text = 0.0, "are being read"
    while "are being read" in text:
        spent, text = await cost(http, found[1])
        total += spent
    return total


async def event_count(address: str) -> tuple[int, int]:
    """Return the events and the histories of the run."""
    client = await Client.connect(address, data_converter=data_converter)
    access = RunAccess(load({}, Path.cwd()), Connection(client, address, None))
    latest = await access.pages.latest(_RUN)
    parts = await access.pages.lineage(_RUN, latest.run_id)
    described = [await access.pages.history(_RUN, part.run) for part in parts]
    return sum(one.events for one in described), len(parts)


async def paints(address: str) -> tuple[tuple[float, ...], float | None]:
    """Return the first contentful paints of some loads, and when the whole run was drawn."""
    program = chromium()
    if program is None or importlib.util.find_spec("playwright") is None:
        return (), None
    driver: Any = importlib.import_module("playwright.async_api")  # of `make test-doors`
    found: list[float] = []
    drawn = 0.0
    async with driver.async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for _ in range(_LOADS):
            page: Any = await browser.new_page()
            began = time.perf_counter()
            await page.goto(f"{address}/runs/{_RUN}")
            await page.wait_for_selector("text=/calls in/", timeout=120_000)
            drawn = (time.perf_counter() - began) * 1000
            found.append((await page.evaluate(_PAINTS))["first-contentful-paint"])
            await page.close()
        await browser.close()
    return tuple(found), drawn


async def viewers_memory(histories: Histories) -> float:
    """Return the megabytes that viewers of several long runs add."""
    pages = long_pages(histories)
    await RunTimelines(pages).timeline("warm", 60)
    before = memory()
    hub, timelines = StreamHub(pages), RunTimelines(pages)

    async def view(number: int) -> None:
        async for _ in EventStream(hub, StreamRequest((f"run-{number % _RUNS}",))).messages():
            pass

    viewing = [asyncio.create_task(view(number)) for number in range(_VIEWERS)]
    now = datetime.now(UTC)
    shown = [await calls_before(pages, f"run-{run}", "", now) for run in range(_RUNS)]
    for run in range(_RUNS):
        assert (await timelines.timeline(f"run-{run}", 600)).is_whole
    added = memory() - before
    assert len(shown) == _RUNS
    for task in viewing:
        task.cancel()
    await asyncio.gather(*viewing, return_exceptions=True)
    await hub.close()
    return added


async def measured(steps: int) -> PageFigures:
    """Measure everything."""
    async with stage(["coterie"]) as (address, workers):
        await finished_run(address, workers["coterie"].queue, steps)
        events, histories = await event_count(address)
        async with served(address) as at, httpx2.AsyncClient(base_url=at, timeout=120) as http:
            await cost(http, "/teams")  # templates and models are built at first use
            opening, page = await cost(http, f"/runs/{_RUN}")
            await asyncio.sleep(3)  # until the run has answered
            again, page = await cost(http, f"/runs/{_RUN}")
            older_url = re.search(r'href="(/runs/[^"]+\?before=[^"#]+)', page)
            assert older_url is not None
            older, _ = await cost(http, older_url[1])
            whole = await whole_cost(http)
            whole_again = await whole_cost(http)
            history = await history_cost(http, page)
            found = await paints(at)
        added = (await event_count(address))[0] - events
    return PageFigures(
        events, histories, opening, again, len(page) / 1000, older, whole, whole_again, history,
        added, *found, await viewers_memory(long_run()),
    )  # fmt: skip


async def serve(steps: int) -> None:
    """Serve the run until somebody interrupts, to look at its page."""
    async with stage(["coterie"]) as (address, workers):
        await finished_run(address, workers["coterie"].queue, steps)
        async with served(address) as origin:
            print(f"{origin}/runs/{_RUN}", flush=True)
            await asyncio.Event().wait()


def main() -> int:
    """Measure, and print the figures as JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.console_page", description=__doc__)
    parser.add_argument("--steps", type=int, default=10_000, help="of the run")
    parser.add_argument("--serve", action="store_true", help="serve the run, and measure nothing")
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve(options.steps))
        return 0
    print(json.dumps(asdict(asyncio.run(measured(options.steps))), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
