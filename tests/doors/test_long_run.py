"""The page of a long run in a browser: its whole length as a picture, which the table repeats."""

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest
import uvicorn
from markupsafe import Markup
from playwright.sync_api import Browser, BrowserContext, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from coterie.gateway.console.console_routes import console_routes
from coterie.gateway.console.long_runs.reported_state import Report
from coterie.gateway.console.page_templates import SERVED_POLICY, PageFrame, render
from coterie.gateway.console.served_pages import HEADERS
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.operations.run_history import Bars, WholeTimeline
from tests.doors.conftest import free_port, patient
from tests.doors.test_console import AXE, JUDGE, Scheme
from tests.unit.gateway.console.pages import long_page

BARS = 10_000
STEP = 1_000_000 // BARS
PATH = "/runs/run"


def timeline(asked: int) -> WholeTimeline:
    """What a gateway answers that first has to read the run."""
    began = "2026-01-02T03:04:05.000+00:00"
    if asked == 1:
        return WholeTimeline(is_whole=False, read=1_000, events=60_000, began=began, seconds=0)
    numbers = range(BARS)
    bars = Bars(
        label=tuple(number % 2 for number in numbers),
        kind=tuple(number % 2 for number in numbers),
        at=tuple(number * STEP for number in numbers),
        length=(STEP,) * BARS,
        waited=(STEP // 4,) * BARS,
        began=tuple(float(number) for number in numbers),
        took=(1.0,) * BARS,
        ended=(True,) * BARS,
        failed=tuple(number % 10 == 0 for number in numbers),
    )
    return WholeTimeline(
        is_whole=True,
        read=60_000,
        events=60_000,
        began=began,
        seconds=10_000,
        labels=("work/write", "work/tool"),
        kinds=("turn", "call"),
        bars=bars,
    )


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    """The page and what it loads, served without a run."""
    report = Report(refusal="no worker answers")
    with ThreadPoolExecutor(1) as pool:  # the browser has the loop of this thread
        shown = pool.submit(lambda: asyncio.run(long_page(report, f"/v1{PATH}/timeline"))).result()
    frame = PageFrame("served", "long", SERVED_POLICY, Markup(), viewer="Ann", is_whole=False)
    asked: dict[str, int] = {}

    async def page(_: Request) -> Response:
        return Response(render("run.html", frame, shown), headers=HEADERS, media_type="text/html")

    async def bars(request: Request) -> Response:
        window = request.headers["user-agent"]
        asked[window] = asked.get(window, 0) + 1
        return JSONResponse(timeline(asked[window]).model_dump())

    nothing = cast("Any", None)
    files = [route for route in console_routes(RunAccess(nothing, nothing))
             if isinstance(route, Route) and route.path.startswith("/static")]  # fmt: skip
    routes = [Route(PATH, page), Route(f"/v1{PATH}/timeline", bars), *files]
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), port=port, log_config=None))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)


def window(browser: Browser, name: str, scheme: Scheme = "light", width: int = 1280, *,
           script: bool = True) -> BrowserContext:  # fmt: skip
    return patient(
        browser.new_context(
            color_scheme=scheme,
            viewport={"width": width, "height": 900},
            java_script_enabled=script,
            user_agent=name,
        )
    )


def test_the_whole_run_is_drawn_and_can_be_looked_at_closely(browser: Browser, origin: str) -> None:
    context = window(browser, "drawn")
    page = context.new_page()
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.goto(f"{origin}{PATH}")
    expect(page.locator("#whole-run .says")).to_have_text("10,000 calls in 2 h 46 min.")
    painted = """() => { const it = document.querySelector("canvas");
      const data = it.getContext("2d").getImageData(0, 0, it.width, it.height).data;
      let count = 0; for (let at = 3; at < data.length; at += 4) if (data[at]) count++;
      return count; }"""
    end = page.locator("#whole-run .to")
    expect(end).to_have_text("+ 2 h 46 min")
    assert page.evaluate(painted) > 1_000
    button = page.get_by_role("button", name="Zoom in")
    button.focus()
    for _ in range(8):
        page.keyboard.press("Enter")
    expect(page.locator("#whole-run .from")).not_to_have_text("+ 0 ms")
    box = page.locator("canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 300, box["y"] + 5)
    expect(page.locator("#whole-run .under")).to_contain_text("work/")
    page.get_by_role("button", name="Whole run").click()
    expect(end).to_have_text("+ 2 h 46 min")
    assert messages == []
    context.close()


@pytest.mark.parametrize(("scheme", "width"), [("light", 360), ("dark", 1600)])
def test_axe_finds_nothing_and_nothing_is_too_wide(
    browser: Browser, origin: str, scheme: Scheme, width: int
) -> None:
    context = window(browser, f"axe {scheme}", scheme, width)
    page = context.new_page()
    page.goto(f"{origin}{PATH}")
    expect(page.locator("#whole-run .says")).to_contain_text("calls in")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate(AXE.read_text())
    assert page.evaluate(JUDGE) == []
    context.close()


def test_without_script_the_picture_is_a_link_and_the_calls_are_a_table(
    browser: Browser, origin: str
) -> None:
    context = window(browser, "plain", script=False)
    page = context.new_page()
    page.goto(f"{origin}{PATH}")
    expect(page.get_by_role("link", name="Read and draw the whole run")).to_be_visible()
    expect(page.locator("canvas")).to_be_hidden()
    expect(page.locator("#timeline tbody tr").first).to_be_visible()
    expect(page.get_by_role("link", name="Older calls")).to_be_visible()
    expect(page.locator("#content")).to_contain_text("no worker answers")
    context.close()
