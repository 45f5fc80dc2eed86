"""The live display of a run in a terminal: position, duration, usage, pending requests."""

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from shlex import quote

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.segment import Segment
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from coterie.arguments import login_name
from coterie.display.following.live_text_lines import last_lines
from coterie.display.following.plain_view import ProgressView
from coterie.dsl.visible import one_line, visible
from coterie.rendering.cost_tables import budget_lines, estimated_text, money_text
from coterie.rendering.decision_commands import decision_commands
from coterie.rendering.progress_lines import (
    TONES,
    ProgressLine,
    head_line,
    progress_lines,
    wrapped,
)
from coterie.rendering.request_text import panel_lines
from coterie.rendering.run_text import paused_text, trail_line
from coterie.runs.run_view import RunNews, innermost, seconds_since
from coterie.text.durations import duration
from coterie.text.problems import counted
from coterie.text.round_counts import rounds_text, steps_shown
from coterie.text.task_signs import graph_line, task_lines
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.views import RunStatus


class SafeConsole(Console):
    """Makes control characters visible in everything that it draws, except its own codes."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield what the console draws, with control characters visible."""
        for segment in super().render(renderable, options):
            if segment.control is None:
                yield Segment(visible(segment.text), segment.style)
            else:
                yield segment


_FEWEST_ROWS = 4
_MAX_TASK_LINES = 15
_MAX_REQUESTS = 5
"""Requests that the display has room for."""
_FRAME = 4
"""Width of a panel's frame, in cells."""
_MAX_WIDTH = 120
"""Width in cells; longer lines are hard to read."""


class LiveView(ProgressView):
    """Redraws a few lines in place, on standard error."""

    def __init__(
        self,
        run: str,
        *,
        color: bool,
        seconds: float = 0.0,
        asks: bool = True,
        verbose: bool = False,
        workspace: Path | None = None,
        console: SafeConsole | None = None,
    ) -> None:
        """Prepare the view.

        Args:
            run: Id of the run.
            color: Use colours.
            seconds: How long the run has been open already.
            asks: Whether the person is asked here; else show how to decide.
            verbose: Print every event above the display.
            workspace: Folder of the files that the run changes; None if it is elsewhere.
            console: Where to draw; default: standard error.
        """
        super().__init__(run, seconds)
        self._run = run
        self._console = console or SafeConsole(stderr=True, no_color=not color, highlight=False)
        self._asks = asks
        self._verbose = verbose
        self._workspace = workspace
        self._spinner = Spinner("dots")
        self._live = self._start_live()

    def progress(self, news: RunNews) -> None:
        """Take the new state; the display redraws itself."""
        super().progress(news)
        for entry in news.entries if self._verbose else ():
            self.say(trail_line(entry))

    def show(self, request: Pending) -> None:
        """Print the request as a panel above the display."""
        self._console.print(self._panel(request))

    def say(self, text: str) -> None:
        """Print a line above the display."""
        self._console.print(Text(visible(text)))

    @contextmanager
    def suspended(self) -> Generator[None]:
        """Clear the display during a question."""
        self._live.stop()
        try:
            yield
        finally:
            self._live = self._start_live()

    def close(self) -> None:
        """Clear the display."""
        self._live.stop()

    def drawn(self) -> RenderableType:
        """Return the whole current display."""
        below = [*self._doing(), *self._waiting()]
        budgets = () if self._seen.status is None else self._seen.status.budgets
        near = [use for use in budgets if use.state != "open"]
        below += [Text(f" {line}", "yellow") for line in budget_lines(near)]
        height = sum(len(self._console.render_lines(part, pad=False)) for part in below)
        room = max(_FEWEST_ROWS, self._console.height - height - 4)
        rows = [head_line(self._width), *progress_lines(self.rows, self._width, room)]
        return Group(self._head(), *map(_text, rows), *below)

    @property
    def _width(self) -> int:
        return min(self._console.width, _MAX_WIDTH)

    def _start_live(self) -> Live:
        live = Live(
            console=self._console,
            get_renderable=self.drawn,
            refresh_per_second=8,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        live.start()
        return live

    def _head(self) -> Text:
        head = Text.assemble((one_line(self._run), "bold"), "  ", no_wrap=True, overflow="ellipsis")
        status = self._seen.status
        if status is None:
            return head.append("starting")
        state, tone = self._seen.state
        head.append(state, TONES[tone])
        head.append(f"  {duration(self._seen.seconds(datetime.now(UTC)))}")
        head.append(f"  visit {status.visits_toward_limit} of {status.max_total_teams}", "dim")
        tokens = status.usage.total
        head.append(
            f"  {counted(status.model_calls, 'model call')}, {counted(tokens, 'token')}", "dim"
        )
        if status.model_calls:
            head.append(f", {money_text(status.cost, unpriced=status.unpriced)}", "dim")
            head.append(estimated_text(status.estimated, status.model_calls), "dim")
        return head

    def _doing(self) -> Iterator[RenderableType]:
        view, status, now = self._seen, self._seen.status, datetime.now(UTC)
        if status is None:
            return
        for loop in status.loops:
            for line in wrapped(rounds_text(loop), self._width, "  ", "    "):
                yield Text(line)
        selection = steps_shown(innermost(view.doing), status.loops)
        for number, step in enumerate(selection.steps):
            row = Table.grid(padding=(0, 1))
            mark = Text(" ") if status.state != "running" or number else self._spinner
            age = Text(duration(seconds_since(step.since, now)), "dim")
            row.add_row(mark, Text(one_line(step.step)), age)
            yield row
        if selection.more:
            yield Text(f"    and {counted(selection.more, 'more step')}", "dim")
        yield from self._graphs(status)
        for line in last_lines(view.answers, self._width):
            yield Text(line, "dim")
        for attempt in view.attempts(now):
            for line in wrapped(attempt, self._width, "  ↻ ", "    ")[:3]:
                yield Text(line, "yellow")

    def _graphs(self, status: RunStatus) -> Iterator[RenderableType]:
        for graph in status.graphs:
            yield Text(f"  {graph_line(graph)}", no_wrap=True, overflow="ellipsis")
            for line in islice(task_lines(graph), _MAX_TASK_LINES):
                yield Text(f"    {line}", "dim", no_wrap=True, overflow="ellipsis")

    def _waiting(self) -> Iterator[RenderableType]:
        if self._seen.paused is not None:
            for line in wrapped(paused_text(self._seen.paused), self._width, "  ", "    "):
                yield Text(line, "yellow")
        pending = self._seen.pending
        for request in pending[:_MAX_REQUESTS]:
            if self._asks:
                yield Text(f"  ? waits for a person: {one_line(request.id)}", "yellow")
            else:
                yield self._panel(request)
                for line in wrapped(self._how_to_decide(request), self._width, "  ", "    "):
                    yield Text(line, "dim")
        if len(pending) > _MAX_REQUESTS:
            more = counted(len(pending) - _MAX_REQUESTS, "more request")
            yield Text(f"  ? {more}: coterie pending {quote(self._run)}", "yellow")

    def _how_to_decide(self, request: Pending) -> str:
        return decision_commands(self._run, request, login_name())

    def _panel(self, request: Pending) -> Panel:
        inside = self._width - _FRAME
        lines = panel_lines(self._run, request, inside, self._workspace)
        body = Text("\n").join(map(_text, lines))
        title = Text(f" {one_line(request.id)} ", "bold yellow")
        return Panel(
            body, title=title, title_align="left", border_style="yellow", width=self._width
        )


def _text(line: ProgressLine) -> Text:
    return Text(one_line(line.text), line.style, no_wrap=True, overflow="ellipsis")
