"""The live display of a run in a terminal: where it is, how long, what it used, whom it awaits."""

import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from coterie.render import counted
from coterie.render_condition import duration
from coterie.render_run import trail_line
from workflows.messages import RunStatus, TrailEntry

_EVENTS_SHOWN = 8
_STYLES = {"success": "green", "approved": "green", "failure": "red", "rejected": "red",
           "skipped": "dim"}  # fmt: skip


class LiveView:
    """Redraws a few lines in place, on standard error."""

    def __init__(self, run: str, *, color: bool) -> None:
        self._run = run
        self._console = Console(stderr=True, no_color=not color, highlight=False)
        self._began = time.monotonic()
        self._status: RunStatus | None = None
        self._events: deque[TrailEntry] = deque(maxlen=_EVENTS_SHOWN)
        self._spinner = Spinner("dots")
        self._live = self._started()

    def progress(self, status: RunStatus, news: Sequence[TrailEntry]) -> None:
        """Take the new state; the display redraws itself."""
        self._status = status
        self._events.extend(news)

    def say(self, text: str) -> None:
        """A line above the display, which stays."""
        self._console.print(Text(text))

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
        lines: list[RenderableType] = [self._head()]
        lines += [_event(entry) for entry in self._events]
        lines += self._doing()
        return Group(*lines)

    def _head(self) -> Text:
        head = Text.assemble((self._run, "bold"), "  ")
        status = self._status
        if status is None:
            return head.append("starting")
        head.append(status.state, "yellow" if status.state == "waiting" else "cyan")
        head.append(f"  {duration(time.monotonic() - self._began)}")
        head.append(f"  team visit {status.teams_run} of {status.max_total_teams}", "dim")
        tokens = status.usage.input_tokens + status.usage.output_tokens
        head.append(f"  {counted(status.model_calls, 'model call')}, "
                    f"{counted(status.skill_calls, 'skill call')}, "
                    f"{counted(tokens, 'token')}", "dim")  # fmt: skip
        return head

    def _doing(self) -> Iterator[RenderableType]:
        if self._status is None:
            return
        now = datetime.now(UTC)
        waiting = bool(self._status.waiting_for)
        for number, one in enumerate(self._status.doing):
            passed = (now - datetime.fromisoformat(one.since)).total_seconds()
            row = Table.grid(padding=(0, 1))
            mark = Text("  ") if waiting or number else self._spinner
            row.add_row(mark, Text(one.step), Text(duration(max(0.0, passed)), "dim"))
            yield row
        for request in self._status.waiting_for:
            yield Text(f"   waits for a person: {request}", "yellow")


def _event(entry: TrailEntry) -> Text:
    style = _STYLES.get(entry.status or "", "")
    return Text(trail_line(entry, because=False), style, no_wrap=True, overflow="ellipsis")
