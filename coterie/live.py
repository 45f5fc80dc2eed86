"""The live display of a run in a terminal: where it is, how long, what it used, whom it awaits."""

import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from rich.console import Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from coterie.console import SafeConsole
from coterie.rendering.cost import budget_lines, money_text
from coterie.rendering.durations import duration
from coterie.rendering.problems import counted
from coterie.rendering.run import day_and_clock, trail_line
from dsl.visible import one_line, visible
from workflows.requests import Pending
from workflows.views import RunStatus, TrailEntry

_MOST_EVENTS = 24
_FEWEST_EVENTS = 4
_STYLES = {"success": "green", "approved": "green", "failure": "red", "rejected": "red",
           "skipped": "dim"}  # fmt: skip


class LiveView:
    """Redraws a few lines in place, on standard error."""

    def __init__(self, run: str, *, color: bool, seconds: float = 0.0, asks: bool = True) -> None:
        """A view.

        Args:
            run: its id.
            color: use colours.
            seconds: for how long the run has been going on already.
            asks: the person is asked; else told how to decide.
        """
        self._run = run
        self._console = SafeConsole(stderr=True, no_color=not color, highlight=False)
        self._began = time.monotonic() - seconds
        self._asks = asks
        self._status: RunStatus | None = None
        self._pending: Sequence[Pending] = ()
        self._events: deque[TrailEntry] = deque(maxlen=_MOST_EVENTS)
        self._spinner = Spinner("dots")
        self._live = self._started()

    def progress(
        self, status: RunStatus, news: Sequence[TrailEntry], pending: Sequence[Pending] = ()
    ) -> None:
        """Take the new state; the display redraws itself."""
        self._status = status
        self._pending = pending
        self._events.extend(news)

    def say(self, text: str) -> None:
        """A line above the display, which stays."""
        self._console.print(Text(visible(text)))

    @contextmanager
    def suspended(self) -> Generator[None]:
        """Clear the display while a question is asked."""
        self._live.stop()
        try:
            yield
        finally:
            self._live = self._started()

    def close(self) -> None:
        """Clear the display."""
        self._live.stop()

    def _started(self) -> Live:
        live = Live(
            console=self._console, get_renderable=self._drawn, refresh_per_second=8,
            transient=True, redirect_stdout=False, redirect_stderr=False,
        )  # fmt: skip
        live.start()
        return live

    def _drawn(self) -> RenderableType:
        below = [*self._doing(), *self._waiting()]
        lines: list[RenderableType] = [self._head()]
        budgets = () if self._status is None else self._status.budgets
        near = [use for use in budgets if use.state != "open"]
        below += [Text(f" {line}", "yellow") for line in budget_lines(near)]
        room = max(_FEWEST_EVENTS, min(_MOST_EVENTS, self._console.height - len(below) - 4))
        events = [line for entry in self._events for line in _event(entry)]
        return Group(*lines, *events[-room:], *below)

    def _head(self) -> Text:
        head = Text.assemble((one_line(self._run), "bold"), "  ")
        status = self._status
        if status is None:
            return head.append("starting")
        head.append(status.state, "cyan" if status.state == "running" else "yellow")
        head.append(f"  {duration(time.monotonic() - self._began)}")
        head.append(f"  team visit {status.teams_run} of {status.max_total_teams}", "dim")
        tokens = status.usage.input_tokens + status.usage.output_tokens
        head.append(f"  {counted(status.model_calls, 'model call')}, "
                    f"{counted(status.skill_calls, 'skill call')}, "
                    f"{counted(tokens, 'token')}", "dim")  # fmt: skip
        if status.model_calls:
            head.append(f", {money_text(status.cost, unpriced=status.unpriced)}", "dim")
        return head

    def _doing(self) -> Iterator[RenderableType]:
        if self._status is None:
            return
        now = datetime.now(UTC)
        stands = self._status.state != "running"
        for number, one in enumerate(self._status.doing):
            passed = (now - datetime.fromisoformat(one.since)).total_seconds()
            row = Table.grid(padding=(0, 1))
            mark = Text("  ") if stands or number else self._spinner
            row.add_row(mark, Text(one_line(one.step)), Text(duration(max(0.0, passed)), "dim"))
            yield row

    def _waiting(self) -> Iterator[RenderableType]:
        if self._status is None:
            return
        paused = self._status.paused
        if paused is not None:
            why = f": {paused.why}" if paused.why else ""
            yield _line(f"   paused by {paused.by}{why}", "yellow")
        for request in self._pending:
            whom = " or ".join(request.approvers) or "a person"
            until = f", until {day_and_clock(request.deadline)}" if request.deadline else ""
            yield _line(f"   waits for {whom}{until}: {request.id}: {request.prompt}", "yellow")
            if not self._asks:
                yield _line(f"     coterie approve {self._run} '{request.id}'   or   coterie "
                            f"reject {self._run} '{request.id}'", "dim")  # fmt: skip


def _event(entry: TrailEntry) -> Iterator[Text]:
    """The event, and because of what the run goes where it goes."""
    style = _STYLES.get(entry.status or "", "")
    yield _line(trail_line(entry, because=False), style)
    if entry.kind == "route" or (entry.kind == "step" and entry.status == "failure"):
        yield _line(f"{' ' * 18}because {entry.because}", "dim")


def _line(text: str, style: str) -> Text:
    return Text(one_line(text), style, no_wrap=True, overflow="ellipsis")
