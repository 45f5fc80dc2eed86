"""What a screen knows of a run: everything that its watcher has reported so far.

Pure: takes reports and the time, and draws nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import JsonValue

from coterie.display.following.plain_view import RunNews, follow
from coterie.dsl.task_graph.graph_tasks import GRAPH_TASK_STATUSES, GraphTaskStatus
from coterie.dsl.task_graph.task_causes import GraphTaskBlocked, GraphTaskEnded, GraphTaskStarted
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.live_texts import LiveAnswer
from coterie.runs.progress import Progress
from coterie.runs.retries import PendingRetry
from coterie.workflows.core.causes.agent_causes import ModelTurned
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.state_keys import StepKey
from coterie.workflows.core.views import RunStatus, TrailEntry

_STATUSES: dict[str, GraphTaskStatus] = {
    "started": "in_progress",
    **{status: status for status in GRAPH_TASK_STATUSES},
}
"""The status of a task of a graph after an entry of the trail."""


@dataclass(slots=True)
class ObservedTask:
    """A task of a task graph."""

    status: GraphTaskStatus
    because: str
    number: str | None = None
    """Its number in the graph, which is part of the names of its steps; None until it starts."""


@dataclass(slots=True)
class ObservedRun:
    """One run, as far as it was watched."""

    run: str
    began: datetime
    goal: str = ""
    """What the run is to reach, if it was started with a goal."""
    status: RunStatus | None = None
    rows: Progress = field(default_factory=Progress)
    pending: tuple[Pending, ...] = ()
    retries: tuple[PendingRetry, ...] = ()
    answers: tuple[LiveAnswer, ...] = ()
    """The answers that models are writing now."""
    last_words: tuple[LiveAnswer, ...] = ()
    """The latest answers that were written before the eyes of the watcher."""
    last_turn: TrailEntry | None = None
    """The latest model turn of an agent that uses tools."""
    graphs: dict[str, dict[str, ObservedTask]] = field(
        default_factory=dict[str, dict[str, ObservedTask]]
    )
    """`{team/step: {task: its state}}` of all task graphs, also of those that have ended."""
    asked: dict[StepKey, JsonValue] = field(default_factory=dict[StepKey, JsonValue])
    """What each call that asked a person does: its arguments."""
    selected: str | None = None
    """Id of the request that the person looks at."""
    end: RunEnd | None = None
    ended: datetime | None = None

    def take(self, news: RunNews) -> None:
        """Take the state of the run and its new events."""
        self.status = news.status
        self.pending = tuple(news.pending)
        self.asked |= {StepKey.of_request(one.id): one.show for one in news.pending}
        self.retries = tuple(news.retries)
        follow(self.rows, news)
        for entry in news.entries:
            self._entry(entry)
        for graph in news.status.graphs:
            tasks = self.graphs.setdefault(graph.step, {})
            for task in graph.tasks:
                known = tasks.setdefault(task.id, ObservedTask(task.status, task.because))
                known.status, known.because = task.status, task.because
        if self.request is None:
            self.selected = self.pending[0].id if self.pending else None

    def take_answers(self, answers: Sequence[LiveAnswer]) -> None:
        """Take the answers in progress."""
        self.answers = tuple(answers)
        written = tuple(answer for answer in answers if answer.tail.text.strip())
        self.last_words = written or self.last_words

    def take_end(self, end: RunEnd, at: datetime) -> None:
        """Take how and when the run ended: nothing is in progress any more."""
        self.end, self.ended = end, at
        self.pending, self.retries, self.answers, self.selected = (), (), (), None

    @property
    def request(self) -> Pending | None:
        """The request that the person looks at."""
        return next((one for one in self.pending if one.id == self.selected), None)

    def allows(self, action: str) -> bool:
        """Return whether an action does something now."""
        return self.possible.get(action, True)

    @property
    def possible(self) -> dict[str, bool]:
        """Which of the actions on a run do something now."""
        request = self.request
        is_paused = self.status is not None and self.status.paused is not None
        return {
            "approve": request is not None and not request.choices,
            "reject": request is not None,
            "edit": request is not None and request.editable and not request.choices,
            "retry": request is not None and "retry" in request.choices,
            "next": len(self.pending) > 1,
            "pause": self.status is not None and not is_paused and self.end is None,
            "resume": is_paused and self.end is None,
            "skip": self.end is None,
            "stop": self.end is None,
            "auto": self.end is None,
        }

    def select_next(self) -> None:
        """Look at the next request, after the last one at the first."""
        ids = [request.id for request in self.pending]
        if ids:
            at = ids.index(self.selected) if self.selected in ids else -1
            self.selected = ids[(at + 1) % len(ids)]

    def _entry(self, entry: TrailEntry) -> None:
        match entry.cause:
            case ModelTurned():
                self.last_turn = entry
            case GraphTaskStarted() | GraphTaskEnded() | GraphTaskBlocked():
                path, _, number = (entry.step or "").rpartition("/")
                tasks = self.graphs.setdefault(StepKey.of(entry.team, path), {})
                status = _STATUSES.get(entry.status or "", "in_progress")
                tasks[entry.cause.task] = ObservedTask(status, entry.because, number)
            case _:
                pass
