"""The view model of a run: what its watcher has reported so far, and what that means.

Pure: takes reports and the time. The live display, the screen and reports render it; plain lines
render its rows.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import JsonValue

from coterie.dsl.task_graph.graph_tasks import GRAPH_TASK_STATUSES, GraphTaskStatus
from coterie.dsl.task_graph.task_causes import GraphTaskBlocked, GraphTaskEnded, GraphTaskStarted
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.live_texts import LiveAnswer
from coterie.runs.progress import Progress, Tone
from coterie.runs.retries import PendingRetry
from coterie.runs.run_list import open_state
from coterie.runs.task_trees import TaskNode, TaskTree
from coterie.workflows.core.causes.agent_causes import ModelTurned
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.state_keys import StepKey
from coterie.workflows.core.views import CostReport, Paused, RunStatus, StepInProgress, TrailEntry

_STATUSES: dict[str, GraphTaskStatus] = {
    "started": "in_progress",
    **{status: status for status in GRAPH_TASK_STATUSES},
}
"""The status of a task of a graph after an entry of the trail."""


@dataclass(frozen=True, slots=True)
class RunNews:
    """A run's state, and what happened since the last time."""

    status: RunStatus
    entries: Sequence[TrailEntry]
    pending: Sequence[Pending] = ()
    """Requests that wait for a person."""
    cost: CostReport | None = None
    """Costs; None when unchanged."""
    retries: Sequence[PendingRetry] = ()
    """Calls that are being retried."""


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step in progress that contains no other one."""

    key: StepKey
    since: str
    turn: int | None = None
    """The turn in progress, from 1."""
    asks: bool = False
    """Whether a person must decide it."""
    arguments: JsonValue = None
    """Of a call of a model: those that a person saw, else those that the run tells."""

    def seconds(self, now: datetime) -> float:
        """How long it has been in progress."""
        return seconds_since(self.since, now)


@dataclass(slots=True)
class RunView:
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
    graphs: dict[str, TaskTree] = field(default_factory=dict[str, TaskTree])
    """All task graphs by their steps, also those that have ended."""
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
        self.asked |= {StepKey.of_request(request.id): request.show for request in news.pending}
        self.retries = tuple(news.retries)
        self.rows.follow(news.entries, news.status.doing)
        if news.cost is not None:
            self.rows.price(news.cost)
        for entry in news.entries:
            self._entry(entry)
        for graph in news.status.graphs:
            self.graphs.setdefault(graph.step, TaskTree(graph.step)).take(graph)
        if self.request is None:
            self.selected = self.pending[0].id if self.pending else None

    def take_answers(self, answers: Sequence[LiveAnswer]) -> None:
        """Take the answers in progress."""
        self.answers = tuple(answers)
        nonempty_answers = tuple(answer for answer in answers if answer.tail.text.strip())
        self.last_words = nonempty_answers or self.last_words

    def take_end(self, end: RunEnd, at: datetime) -> None:
        """Take how and when the run ended: nothing is in progress any more."""
        self.end, self.ended = end, at
        self.pending, self.retries, self.answers, self.selected = (), (), (), None

    @property
    def state(self) -> tuple[str, Tone]:
        """The state of the run, with its tone."""
        if self.end is not None:
            return ("completed", "good") if self.end.completed else (self.end.state, "bad")
        if self.status is None:
            return "starting", "waiting"
        state = open_state(self.status)
        return state, "working" if state == "running" else "waiting"

    @property
    def paused(self) -> Paused | None:
        """Who has paused it; None if it is not paused, or has ended."""
        return None if self.status is None or self.end is not None else self.status.paused

    @property
    def doing(self) -> Sequence[StepInProgress]:
        """The steps in progress, outermost first."""
        return () if self.status is None or self.end is not None else self.status.doing

    @property
    def steps(self) -> list[StepRow]:
        """The steps in progress that contain no other one."""
        waiting_keys = {StepKey.of_request(request.id) for request in self.pending}
        return [self._step(current, waiting_keys) for current in innermost(self.doing)]

    def _step(self, current: StepInProgress, waiting_keys: Set[StepKey]) -> StepRow:
        key = StepKey(current.step)
        return StepRow(
            key,
            current.since,
            None if current.turn is None else current.turn + 1,
            not waiting_keys.isdisjoint((key, key.failed, key.input)),
            self.asked.get(key, current.arguments) if key.is_model_call else None,
        )

    def attempts(self, now: datetime) -> list[str]:
        """Describe the steps and calls that are being repeated."""
        retry_texts = [retry.describe() for retry in self.rows.repeated(self.doing)]
        return [*retry_texts, *(retry.describe(now) for retry in self.retries)]

    def seconds(self, now: datetime) -> float:
        """How long the run has been open, or was."""
        return max(0.0, ((self.ended or now) - self.began).total_seconds())

    @property
    def request(self) -> Pending | None:
        """The request that the person looks at."""
        return next((request for request in self.pending if request.id == self.selected), None)

    def allows(self, action: str) -> bool:
        """Return whether an action does something now."""
        return self.possible.get(action, True)

    @property
    def possible(self) -> dict[str, bool]:
        """Which of the actions on a run do something now."""
        request = self.request
        is_paused = self.paused is not None
        return {
            "approve": request is not None and not request.choices,
            "reject": request is not None,
            "edit": request is not None and request.editable and not request.choices,
            "retry": request is not None and "retry" in request.choices,
            "next": len(self.pending) > 1,
            "pause": self.status is not None and not is_paused and self.end is None,
            "resume": is_paused,
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
                step = StepKey.of(entry.team, path)
                status = _STATUSES.get(entry.status or "", "in_progress")
                node = TaskNode(entry.cause.task, status, entry.because, number=number)
                self.graphs.setdefault(step, TaskTree(step)).put(node)
            case _:
                pass


def seconds_since(moment: str, now: datetime) -> float:
    """Return the seconds since a moment, in ISO 8601."""
    return max(0.0, (now - datetime.fromisoformat(moment)).total_seconds())


def innermost(doing: Sequence[StepInProgress]) -> list[StepInProgress]:
    """Return the steps in progress that contain no other one."""
    return [
        current
        for current in doing
        if not any(other.step.startswith(f"{current.step}/") for other in doing)
    ]
