"""The screen beside the watcher of a run: how both end; and when it cannot be opened."""

import asyncio
import re
import sys
from argparse import Namespace
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path

import pytest

from coterie.activities.extra_packages import install_command
from coterie.commands import screen_option
from coterie.commands.screen_option import chosen_screen
from coterie.display.screens import PastRun, ScreenHandling, ScreenLeft
from coterie.display.written_decisions import WrittenDecision
from coterie.failures import CommandError
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.run_view import RunNews
from coterie.settings import load
from coterie.ui.panes import head_lines
from coterie.ui.run_screen import RunApp, RunScreen
from coterie.workflows.core.requests import Pending
from tests.support.watching.steered_run import SteeredRun
from tests.support.watching.watched_runs import asked, status_of

END = RunEnd("completed")


@pytest.fixture(autouse=True)
def opened(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Show every screen without a terminal; set once it is drawn."""
    shown, event = RunApp.run_async, asyncio.Event()

    async def drawn(_: object) -> None:
        event.set()

    async def run_async(app: RunApp) -> None:
        await shown(app, headless=True, size=(100, 30), auto_pilot=drawn)

    monkeypatch.setattr(RunApp, "run_async", run_async)
    return event


async def test_the_screen_stays_after_the_end_until_the_person_leaves(
    opened: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen, said = RunScreen(SteeredRun(), None), asyncio.Event()

    def say(_: str) -> None:
        said.set()

    monkeypatch.setattr(screen, "say", say)
    end = asyncio.get_running_loop().create_future()
    shown = asyncio.create_task(screen.until_left(end))
    await opened.wait()
    screen.progress(RunNews(status_of(), []))
    end.set_result(END)
    await said.wait()
    assert screen.app.seen.end == END
    assert not shown.done()
    screen.app.action_leave()
    assert await shown == END


async def test_a_run_that_has_ended_already_is_shown_as_it_ended(opened: asyncio.Event) -> None:
    screen = RunScreen(SteeredRun(), None)
    began = datetime(2030, 1, 1, tzinfo=UTC)
    past = PastRun(RunNews(status_of(), []), "Mend it", began, began + timedelta(seconds=42))
    screen.take_past(past)
    end = asyncio.get_running_loop().create_future()
    end.set_result(END)
    shown = asyncio.create_task(screen.until_left(end))
    await opened.wait()
    head = [line.text for line in head_lines(screen.app.seen, 100, datetime.now(UTC))]
    assert head[0] == "Goal: Mend it"
    assert "completed  42 s" in head[1]
    screen.app.action_leave()
    assert await shown == END


async def test_a_person_who_leaves_before_the_end_ends_the_watching(opened: asyncio.Event) -> None:
    screen = RunScreen(SteeredRun(), None)
    end = asyncio.get_running_loop().create_future()
    shown = asyncio.create_task(screen.until_left(end))
    await opened.wait()
    screen.app.action_leave()
    with pytest.raises(ScreenLeft):
        await shown
    assert end.cancelled()


async def test_an_error_of_the_watcher_or_of_the_screen_closes_it_and_reaches_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = RunScreen(SteeredRun(), None)
    end = asyncio.get_running_loop().create_future()
    end.set_exception(CommandError("no such run"))
    with pytest.raises(CommandError, match="no such run"):
        await screen.until_left(end)

    def broken(app: RunApp) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr(RunApp, "redraw", broken)
    with pytest.raises(ValueError, match="a bug"):
        await RunScreen(SteeredRun(), None).until_left(asyncio.get_running_loop().create_future())


class Collected:
    def __init__(self) -> None:
        self.met: list[str] = []

    async def consider(self, pending: Sequence[Pending]) -> None:
        self.met += [one.id for one in pending]

    async def close(self) -> None:
        pass


async def test_written_decisions_come_before_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, decider, rest = RunScreen(SteeredRun(), None), Collected(), Collected()
    monkeypatch.setattr(screen, "requests", rest)
    written = [WrittenDecision(approval="plan/*", decision="approve", by="ann")]
    handling = ScreenHandling(decider, screen, written)
    await handling.consider([asked(id="plan/a#1"), asked(id="work/b#1")])
    assert (decider.met, rest.met) == (["plan/a#1"], ["work/b#1"])


def args(**given: object) -> Namespace:
    return Namespace(**{"ui": True, **given})


@pytest.fixture
def at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen_option, "is_interactive", lambda: True)


@pytest.mark.usefixtures("at_a_terminal")
def test_the_option_opens_the_screen_only_where_it_can_be_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    able = load({"TERM": "xterm"}, tmp_path)
    assert chosen_screen(args(), able) is RunScreen
    assert chosen_screen(Namespace(ui=False), able) is None
    with pytest.raises(CommandError, match="--ui cannot be used with --plain"):
        chosen_screen(args(plain=True), able)
    with pytest.raises(CommandError, match="TERM is 'dumb'"):
        chosen_screen(args(), load({"TERM": "dumb"}, tmp_path))
    monkeypatch.setattr(screen_option, "is_interactive", lambda: False)
    with pytest.raises(CommandError, match="--ui needs a terminal"):
        chosen_screen(args(), able)


@pytest.mark.usefixtures("at_a_terminal")
def test_without_the_extra_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import_module("coterie.ui.run_screen")
    monkeypatch.delitem(sys.modules, "coterie.ui.run_screen")
    monkeypatch.setitem(sys.modules, "textual", None)
    with pytest.raises(CommandError, match=re.escape(install_command("ui"))):
        chosen_screen(args(), load({"TERM": "xterm"}, tmp_path))
