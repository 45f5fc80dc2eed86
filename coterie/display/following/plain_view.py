"""What a person sees of a run in progress: plain lines here, the live display elsewhere."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from coterie.display.following.live_text_lines import FlowingText
from coterie.dsl.visible import one_line
from coterie.rendering.progress_lines import task_text
from coterie.rendering.request_text import plain_lines
from coterie.rendering.run_text import trail_line
from coterie.runs.live_texts import LiveAnswer
from coterie.runs.progress import END_STATES, Progress
from coterie.runs.run_view import RunNews, RunView, innermost
from coterie.terminal import note, prompt, say
from coterie.text.durations import duration
from coterie.text.lines import prompt_lines, text_of
from coterie.text.moments import clock
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.views import TrailEntry

_IN_PROGRESS = frozenset({"turn", "refused", "repeated", "exited", "retried", "caught"})
"""Statuses of a task that continues, each worth a line; `retried` also of a step within it."""


class ProgressView:
    """Shows progress and messages; what a view does not override, it does not show."""

    def __init__(self, run: str, seconds: float = 0.0) -> None:
        """Know nothing of the run yet; `seconds` is how long it has been open already."""
        self._seen = RunView(run, datetime.now(UTC) - timedelta(seconds=seconds))

    @property
    def rows(self) -> Progress:
        """Visits and tasks seen so far."""
        return self._seen.rows

    def progress(self, news: RunNews) -> None:
        """Take the run's state and the new events."""
        self._seen.take(news)

    def writing(self, answers: Sequence[LiveAnswer]) -> None:
        """Take the answers that models are writing now; empty when they have ended."""
        self._seen.take_answers(answers)

    def show(self, request: Pending) -> None:
        """Show a request that the person is about to decide."""

    def say(self, text: str) -> None:
        """Print a message."""

    @contextmanager
    def suspended(self) -> Generator[None]:
        """Leave the terminal to a question within the block."""
        yield

    def close(self) -> None:
        """Close the view."""


class PlainView(ProgressView):
    """Prints lines, for logs and pipes."""

    def __init__(
        self,
        run: str,
        write: Callable[[str], None] = note,
        *,
        write_part: Callable[[str], None] = prompt,
        verbose: bool = False,
        workspace: Path | None = None,
    ) -> None:
        """Prepare the view.

        Args:
            run: Id of the run.
            write: Receives progress lines; messages always go to standard error.
            write_part: Receives the text of answers in progress, without line breaks of its own.
            verbose: Print every event with its full reason, instead of one line per task.
            workspace: Folder of the files that the run changes; None if it is elsewhere.
        """
        super().__init__(run)
        self._run = run
        self._write_line = write
        self._text = FlowingText(write_part)
        self._verbose = verbose
        self._workspace = workspace
        self._printed: set[tuple[str, ...]] = set()

    def progress(self, news: RunNews) -> None:
        """Print a line for each event and for each step that started."""
        self._seen.take(news)
        self.events(news.entries)
        ended_steps = {
            f"{entry.team}/{entry.step}" for entry in news.entries if entry.kind == "step"
        }
        for step in innermost(news.status.doing):
            if step.step not in ended_steps and self._first(step.step, step.since):
                self._write(f"      {clock(step.since)}  {step.step} ...")
        now = datetime.now(UTC)
        for retry in news.retries:
            if self._first(retry.call, str(retry.attempt)):
                line = one_line(f"retry {retry.describe(now)}")
                self._write(f"      {clock(now.isoformat())}  {line}")

    def events(self, entries: Sequence[TrailEntry]) -> None:
        """Print a line for each event that the rows know."""
        for entry in entries:
            self._event(entry)

    def writing(self, answers: Sequence[LiveAnswer]) -> None:
        """Print the text that is new."""
        self._text.show(answers)

    def _write(self, line: str) -> None:
        self._text.end_line()
        self._write_line(line)

    def _event(self, entry: TrailEntry) -> None:
        if self._verbose:
            self._write(trail_line(entry))
        elif entry.kind != "step":
            is_failed_route = entry.status not in (None, "success") and entry.kind == "route"
            self._write(trail_line(entry, because=is_failed_route))
        elif entry.status == "retried" or (
            entry.status in _IN_PROGRESS and "/" not in (entry.step or "")
        ):
            self._write(trail_line(entry))
        elif entry.status in END_STATES and entry.step and "/" not in entry.step:
            task = self.rows.visits[entry.team, entry.visit].tasks.get(entry.step)
            if task is not None:
                where = f"{entry.team}#{entry.visit}"
                line = f"{entry.number:>4}  {clock(entry.at)}    {where}  {task_text(task)}"
                why = f"  because {task.because}" if task.because else ""
                self._write(one_line(f"{line}{why}"))

    def _first(self, *key: str) -> bool:
        if key in self._printed:
            return False
        self._printed.add(key)
        return True

    def show(self, request: Pending) -> None:
        """Print the question and its subject; file changes as a diff."""
        self._text.end_line()
        lines = plain_lines(self._run, request, self._workspace)
        note(text_of(["", request.id, *prompt_lines(request.prompt), *lines]))

    def say(self, text: str) -> None:
        """Print a line."""
        self._text.end_line()
        note(text)


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
    status = "" if entry.seconds is None else f"{entry.status} ({duration(entry.seconds)})"
    outcome = ", ".join(filter(None, (status, entry.because))) or entry.status or ""
    return f"/{entry.step}: {outcome}"


class EventsView(PlainView):
    """Prints named events only."""

    def __init__(self, run: str) -> None:
        super().__init__(run, say)

    def progress(self, news: RunNews) -> None:
        """Print the named events since the last time."""
        self._seen.take(news)
        for line in event_lines(news.entries):
            say(line)
