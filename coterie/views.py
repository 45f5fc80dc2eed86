"""What the person beside a run sees of it while it goes on: plain lines here, live elsewhere."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Protocol

from coterie.rendering.run import clock, trail_line
from coterie.terminal import note
from workflows.requests import Pending
from workflows.views import Activity, RunStatus, TrailEntry


class View(Protocol):
    """Shows progress; says what the person must know."""

    def progress(
        self, status: RunStatus, news: Sequence[TrailEntry], pending: Sequence[Pending] = ()
    ) -> None:
        """The run's state, what happened since the last time, and what waits for a person."""
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

    def __init__(self, write: Callable[[str], None] = note, *, because: bool = False) -> None:
        """A view.

        Args:
            write: where the lines of progress go; what must be known is always noted.
            because: tell each event with its whole reason.
        """
        self._write = write
        self._because = because
        self._told: set[tuple[str, str]] = set()

    def progress(
        self, status: RunStatus, news: Sequence[TrailEntry], pending: Sequence[Pending] = ()
    ) -> None:
        """A line for each event and for each step that began."""
        for entry in news:
            self._write(trail_line(entry, because=self._because))
        ended = {f"{entry.team}/{entry.step}" for entry in news if entry.kind == "step"}
        for one in _innermost(status.doing):
            key = (one.step, one.since)
            if key not in self._told and one.step not in ended:
                self._write(f"      {clock(one.since)}  {one.step} ...")
                self._told.add(key)

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
