"""Print the named events of a run, one per line, and nothing else."""

from collections.abc import Iterator, Sequence

from coterie.display.plain_view import PlainView, RunNews, follow
from coterie.terminal import say
from coterie.text.moments import clock
from dsl.visible import one_line
from workflows.core.views import TrailEntry


def event_lines(entries: Sequence[TrailEntry]) -> Iterator[str]:
    """Yield a line for each named event: its time, its name, and the visit that it starts."""
    for entry in entries:
        if entry.event is not None:
            yield one_line(f"{clock(entry.at)}  {entry.event}  {entry.team}#{entry.visit}")


class EventsView(PlainView):
    """Prints named events only."""

    def __init__(self) -> None:
        super().__init__(say)

    def progress(self, news: RunNews) -> None:
        """Print the named events since the last time."""
        follow(self.rows, news)
        for line in event_lines(news.entries):
            say(line)
