"""Rebuild a run's plan, trail and state from its history alone, without a worker.

The interpreter replays the history with the recorded results. If this code decides differently from
the code that ran (another version), nothing can be rebuilt.
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass

from temporalio import workflow
from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.client import Client, WorkflowHistory

from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.dsl.visible import one_line
from coterie.replay.decision_trace import DecisionObserver, ObservedState
from coterie.replay.observer import ReceivedMessage, ReplayObserver, is_the_last, observed
from coterie.replay.trace_events import Visit
from coterie.runs.histories.history_events import started
from coterie.runs.run_client import Run
from coterie.workflows.core.progress.progress_kinds import TaskGraphProgress
from coterie.workflows.core.requests import RequestView
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_keys import StateKey
from coterie.workflows.core.views import CostReport, RunStatus, TrailEntry
from coterie.workflows.team import TeamWorkflow

MAX_CAUSE = 300
"""Maximum characters of a replay's message."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A run as its own workflow knows it."""

    plan: Plan
    trail: tuple[TrailEntry, ...]
    """All entries, including those from before continue-as-new."""
    status: RunStatus
    visits: Mapping[tuple[str, int], Visit]
    """`{(team, visit): its decisions}`."""
    cost: CostReport
    requests: Mapping[str, RequestView]
    """`{id: the request, pending or decided}`."""
    graphs: Mapping[str, TaskGraphProgress]
    """`{step: its latest task graph, in progress or ended}`."""
    open_graphs: frozenset[str]
    """The steps of those in progress."""
    received: tuple[ReceivedMessage, ...]
    """Messages from people within this history."""
    context: Json
    """The context now."""
    snapshot: Json | None = None
    """The whole state, as the run carries it along when it continues as new; only on demand."""


@dataclass(frozen=True, slots=True)
class NotFollowed:
    """Why this code cannot follow a history."""

    cause: str
    """The replay's own message, on one line."""


async def rebuilt(history: WorkflowHistory, *, snapshot: bool = False) -> Rebuilt | NotFollowed:
    """Return the run behind a history, or why this code cannot follow it.

    Args:
        history: Of one part of the run.
        snapshot: Whether to return its whole state, too.
    """
    observer = _StateReader(snapshot=snapshot)
    failure = await observed(history, observer)
    if failure is not None:
        return NotFollowed(one_line(f"{type(failure).__name__}: {failure}")[:MAX_CAUSE])
    return observer.seen or NotFollowed("it has no plan yet")


def _requests(state: RunState) -> dict[str, RequestView]:
    return {
        id: RequestView(pending=state.pending.get(id), decision=state.decisions.get(id))
        for id in (*state.decisions, *state.pending)
    }


def _open_graphs(state: RunState) -> dict[str, TaskGraphProgress]:
    return {StateKey(key).step: graph for key, graph in state.progress.task_graphs.items()}


class _StateReader(ReplayObserver):
    """Reads the state of the replayed workflow before it is evicted."""

    def __init__(self, *, snapshot: bool) -> None:
        super().__init__()
        self._takes_snapshot = snapshot
        self.seen: Rebuilt | None = None
        self._observer: DecisionObserver | None = None
        self._received: list[ReceivedMessage] = []

    def run_started(self, run: TeamWorkflow) -> None:
        """Observe every entry of the run from its start."""
        self._observer = DecisionObserver(workflow.info().workflow_id, lambda: run.plan)
        run.state = ObservedState.of(run.state, self._observer)

    def received(self, message: ReceivedMessage) -> None:
        """Record the message."""
        self._received.append(message)

    def before(self, act: WorkflowActivation) -> None:
        """Read the state before eviction."""
        run, observer = self.run, self._observer
        if not is_the_last(act) or run is None or observer is None or run.plan is None:
            return
        self.seen = Rebuilt(
            run.plan,
            tuple(observer.trail),
            run.status(),
            observer.visits,
            run.cost(),
            _requests(run.state),
            {**observer.graphs, **_open_graphs(run.state)},
            frozenset(_open_graphs(run.state)),
            tuple(self._received),
            run.state.main.context,
            run.state.carried() if self._takes_snapshot else None,
        )


async def earlier_parts(client: Client, history: WorkflowHistory) -> AsyncIterator[Rebuilt]:
    """Yield the parts before continue-as-new, latest first, as far as this code can follow them."""
    while earlier := started(history).previous:
        history = await Run(client, history.workflow_id).history(earlier)
        part = await rebuilt(history)
        if isinstance(part, NotFollowed):
            return
        yield part


def joined_trails(*parts: Iterable[TrailEntry]) -> list[TrailEntry]:
    """Join overlapping trails into one."""
    by_number = {entry.number: entry for part in parts for entry in part}
    return [by_number[number] for number in sorted(by_number)]
