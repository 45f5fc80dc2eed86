"""What the person beside a run sees of it while it goes on: plain lines here, live elsewhere."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from coterie.rendering.approval_panel import plain_lines
from coterie.rendering.progress_lines import task_text
from coterie.rendering.run_text import clock, trail_line
from coterie.runs.progress import Progress
from coterie.runs.retries import PendingRetry
from coterie.terminal import note
from coterie.text.lines import prompt_lines, text_of
from dsl.visible import one_line
from workflows.core.requests import Pending
from workflows.core.views import Activity, CostReport, RunStatus, TrailEntry


class ProgressView(Protocol):
    """Shows progress; says what the person must know."""

    @property
    def rows(self) -> Progress:
        """The visits and tasks that it has seen."""
        ...

    def progress(
        self,
        status: RunStatus,
        news: Sequence[TrailEntry],
        pending: Sequence[Pending] = (),
        *,
        cost: CostReport | None = None,
        retries: Sequence[PendingRetry] = (),
    ) -> None:
        """Take the run's state and what happened since the last time.

        Args:
            status: where the run is.
            news: what happened.
            pending: what waits for a person.
            cost: what was spent; None when it did not change.
            retries: calls that are made again.
        """
        ...

    def show(self, request: Pending) -> None:
        """A request that the person is about to decide."""
        ...

    def say(self, text: str) -> None:
        """Something to read, once."""
        ...

    @contextmanager
    def suspended(self) -> Generator[None]:
        """Leave the terminal to a question within the block."""
        ...

    def close(self) -> None:
        """Nothing more will come."""
        ...


class PlainView:
    """Lines for logs and pipes."""

    def __init__(
        self,
        write: Callable[[str], None] = note,
        *,
        verbose: bool = False,
        workspace: Path | None = None,
    ) -> None:
        """A view.

        Args:
            write: where the lines of progress go; what must be known is always noted.
            verbose: tell every event with its whole reason, instead of a line for each task.
            workspace: where the files are that the run changes; None when they are elsewhere.
        """
        self._write = write
        self._verbose = verbose
        self._workspace = workspace
        self._told: set[tuple[str, ...]] = set()
        self.rows = Progress()

    def progress(
        self,
        status: RunStatus,
        news: Sequence[TrailEntry],
        pending: Sequence[Pending] = (),
        *,
        cost: CostReport | None = None,
        retries: Sequence[PendingRetry] = (),
    ) -> None:
        """A line for each event and for each step that began."""
        self.rows.follow(news, status.doing)
        if cost is not None:
            self.rows.price(cost)
        for entry in news:
            self._event(entry)
        ended = {f"{entry.team}/{entry.step}" for entry in news if entry.kind == "step"}
        for one in _innermost(status.doing):
            if one.step not in ended and self._first(one.step, one.since):
                self._write(f"      {clock(one.since)}  {one.step} ...")
        now = datetime.now(UTC)
        for retry in retries:
            if self._first(retry.call, str(retry.attempt)):
                told = one_line(f"retry {retry.told(now)}")
                self._write(f"      {now.astimezone():%H:%M:%S}  {told}")

    def _event(self, entry: TrailEntry) -> None:
        if self._verbose:
            self._write(trail_line(entry))
        elif entry.kind != "step":
            failed = entry.status not in (None, "success") and entry.kind == "route"
            self._write(trail_line(entry, because=failed))
        elif entry.step and "/" not in entry.step:
            task = self.rows.visits[entry.team, entry.visit].tasks.get(entry.step)
            if task is not None:
                where = f"{entry.team}#{entry.visit}"
                line = f"{entry.number:>4}  {clock(entry.at)}    {where}  {task_text(task)}"
                why = f"  because {task.because}" if task.because else ""
                self._write(one_line(f"{line}{why}"))

    def _first(self, *key: str) -> bool:
        if key in self._told:
            return False
        self._told.add(key)
        return True

    def show(self, request: Pending) -> None:
        """The question and what there is to look at; changes of files as their diff."""
        shown = plain_lines(request, self._workspace)
        note(text_of(["", request.id, *prompt_lines(request.prompt), *shown]))

    def say(self, text: str) -> None:
        """A line."""
        note(text)

    @contextmanager
    def suspended(self) -> Generator[None]:
        """Lines do not mind a question."""
        yield

    def close(self) -> None:
        """Every line is out already."""


def _innermost(doing: Sequence[Activity]) -> list[Activity]:
    """The steps in progress that hold no other one."""
    return [
        one for one in doing if not any(other.step.startswith(f"{one.step}/") for other in doing)
    ]
