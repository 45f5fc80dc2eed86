"""Pages of recorded runs, and what a browser makes of them."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar, cast

from lxml import html  # pyright: ignore[reportMissingTypeStubs]

from coterie.gateway.console.drawn_figures import CheckedDrawing
from coterie.gateway.console.long_runs.long_run_page import LongRunFacts, long_run_page
from coterie.gateway.console.long_runs.newest_calls import calls_before
from coterie.gateway.console.long_runs.reported_state import Report
from coterie.gateway.console.page_templates import PageFrame, offline_frame, render
from coterie.gateway.console.run_page import HistoryLink, LongRun, RunInput, RunPage, run_page
from coterie.inspection.followed_run import FollowedRun
from coterie.replay.rebuilt_run import Rebuilt, rebuilt
from coterie.storage.histories import read_history
from tests.replay.record import HISTORIES
from tests.support.recorded_pages import RecordedPages

NOW = datetime(2126, 1, 2, 3, 4, 5, tzinfo=UTC)
Tree = Any
"""Of lxml, which has no types."""
T = TypeVar("T")


async def recorded(name: str) -> FollowedRun:
    """The run of a recorded case, from its only or first history."""
    history = read_history(HISTORIES / f"{name}.0.1.0.json")
    part = await rebuilt(history)
    assert isinstance(part, Rebuilt), part
    return FollowedRun((history,), (part,))


async def page_of(name: str) -> RunPage:
    """The page of a recorded case."""
    return run_page(await recorded(name), NOW)


async def long_page(report: Report, address: str = "/b") -> RunPage:
    """The page of a long run that is open, as an address has its bars."""
    run = await recorded("begun_branches")
    pages = RecordedPages.of("begun_branches")
    calls = await calls_before(pages, "run", "", NOW)
    latest = run.latest
    facts = LongRunFacts(
        "run", latest.plan, None, RunInput("team x", None), NOW, None, NOW, None, report,
        calls.timeline, None,
    )  # fmt: skip
    link = HistoryLink(1, "/runs/run?history=h", NOW, 60_000)
    answered = None if report.state is None else report.state.at
    older = "/runs/run?before=c"
    long = LongRun(60_000, (link,), answered, report.refusal, 0, older, "", address, None)
    return long_run_page(facts, long)


@cache
def frame() -> PageFrame:
    """The frame of an offline page."""
    return offline_frame("a run")


def parsed(template: str, page: object) -> Tree:
    """The tree that a browser makes of a page."""
    return read_html(render(template, frame(), page))


def read_html(text: str) -> Tree:
    """The tree of a document."""
    return cast("Callable[[str], Tree]", html.document_fromstring)(text)  # pyright: ignore


def text_in(tree: Tree) -> str:
    """All that a person may read in it, or hear of its pictures."""
    labels = tree.xpath("//@aria-label")
    return "\n".join([*tree.itertext(), *labels])


def with_texts(view: T, change: Callable[[str, str], str]) -> T:
    """Return a view in which every text is another one; `change` gets its path and the text."""
    return cast("T", _changed(view, change, ""))


def _changed(value: Any, change: Callable[[str, str], str], path: str) -> Any:
    kind = cast("Any", type)(value)
    if kind is str:
        return change(path, value)
    if issubclass(kind, dict):
        return {key: _changed(item, change, path) for key, item in value.items()}
    if issubclass(kind, tuple | list):
        items = [_changed(item, change, f"{path}[]") for item in value]
        return cast("Any", kind(*items) if hasattr(value, "_fields") else kind(items))
    if kind is CheckedDrawing:
        return value
    if is_dataclass(value):
        names = [field.name for field in fields(value)]
        update = {name: _changed(getattr(value, name), change, f"{path}.{name}") for name in names}
        return replace(cast("Any", value), **update)
    return value
