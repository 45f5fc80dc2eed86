"""Print the named events of a run, one per line, and nothing else."""

from collections.abc import Iterator, Sequence

from coterie.display.following.plain_view import PlainView
from coterie.dsl.visible import one_line
from coterie.runs.run_view import RunNews
from coterie.terminal import say
from coterie.text.durations import duration
from coterie.text.moments import clock
from coterie.workflows.core.views import TrailEntry


def event_lines(entries: Sequence[TrailEntry]) -> Iterator[str]:
    """Yield a line for each named event: its time, its name, its visit, and its step if it has one.

    What it says of a step: how it ended and when, and why.
    """
    for entry in entries:
        if entry.event is not None:
            where = f"{entry.team}#{entry.visit}{_of_step(entry)}"
            yield one_line(f"{clock(entry.at)}  {entry.event}  {where}")


def _of_step(entry: TrailEntry) -> str:
    if entry.step is None:
        return ""
    ended = "" if entry.seconds is None else f"{entry.status} ({duration(entry.seconds)})"
    said = ", ".join(filter(None, (ended, entry.because))) or entry.status or ""
    return f"/{entry.step}: {said}"


class EventsView(PlainView):
    """Prints named events only."""

    def __init__(self, run: str) -> None:
        super().__init__(run, say)

    def progress(self, news: RunNews) -> None:
        """Print the named events since the last time."""
        self._seen.take(news)
        for line in event_lines(news.entries):
            say(line)
