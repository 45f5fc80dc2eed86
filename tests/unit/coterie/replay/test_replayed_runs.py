"""A replay of a recorded run: what it compares, and how it says that it cannot follow."""

from collections.abc import Callable
from typing import TypeVar

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import (
    HistoryEvent,
    WorkflowExecutionTerminatedEventAttributes,
)
from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.client import WorkflowHistory

from coterie.replay.observed_replay import (
    ReplayObserver,
    _WatchedRunner,  # pyright: ignore[reportPrivateUsage]
    is_the_last,
    observed,
    time_limit,
)
from coterie.replay.replay import (
    _Watch,  # pyright: ignore[reportPrivateUsage]
    replay,
)
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.histories.history_events import closed
from coterie.runtime.task_limit import MAX_CPU, MAX_SECONDS, CpuLimit
from coterie.storage.histories import read_history
from tests.replay.record import HISTORIES

T = TypeVar("T")


def history(name: str) -> WorkflowHistory:
    return read_history(HISTORIES / f"{name}.0.1.0.json")


@pytest.mark.parametrize(("name", "calls", "decisions"), [("steered", 2, 12), ("blocks", 2, 7)])
async def test_a_run_that_is_decided_the_same_has_its_calls_answers_and_end(
    name: str, calls: int, decisions: int
) -> None:
    done = await replay(history(name))
    assert (done.differences, done.more, done.calls) == ((), (), calls)
    assert done.end is not None
    assert done.end.facts["ended"] == "completed"
    assert done.digests[decisions] == done.end.facts["trail_digest"]
    assert [entry.number for entry in done.trail] == list(range(1, decisions + 1))


async def test_events_that_were_changed_are_a_failure_and_differences() -> None:
    changed = history("blocks")
    for event in changed.events:
        scheduled = event.activity_task_scheduled_event_attributes
        if scheduled.activity_id:
            scheduled.activity_type.name = "another"
    assert isinstance(await observed(changed, ReplayObserver()), Exception)
    assert (await replay(changed)).differences


async def test_a_run_of_another_kind_never_starts_and_is_a_difference() -> None:
    other = history("blocks")
    other.events[0].workflow_execution_started_event_attributes.workflow_type.name = "Other"
    done = await replay(other)
    assert done.trail == ()
    assert "is not registered" in done.differences[-1]


async def test_a_replay_has_the_limit_of_cpu_time_of_a_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tasks: list[float] = []

    class Counted(CpuLimit):
        def run(self, work: Callable[[], T]) -> T:
            tasks.append(self.max_cpu)
            return super().run(work)

    monkeypatch.setattr("coterie.replay.observed_replay.LIMIT", Counted())
    runner = _WatchedRunner(ReplayObserver())
    assert runner.max_task_seconds == MAX_SECONDS
    assert await observed(history("blocks"), ReplayObserver()) is None
    assert set(tasks) == {MAX_CPU}


def test_a_run_that_is_evicted_before_it_started_has_no_trail() -> None:
    act = WorkflowActivation()
    act.jobs.add().remove_from_cache.SetInParent()
    watch = _Watch()
    watch.before(act)
    assert watch.trail == []


def test_a_longer_history_has_more_time_to_replay() -> None:
    assert 0 < time_limit(1) < time_limit(50_000)


@pytest.mark.parametrize(
    ("jobs", "last"),
    [
        ([], False),
        (["fire_timer"], False),
        (["remove_from_cache"], True),
        (["fire_timer", "remove_from_cache"], True),
    ],
)
def test_the_activation_that_evicts_a_run_is_the_last(jobs: list[str], last: bool) -> None:
    act = WorkflowActivation()
    for job in jobs:
        getattr(act.jobs.add(), job).SetInParent()
    assert is_the_last(act) is last


@pytest.mark.parametrize(
    ("event", "end"),
    [
        ("CANCELED", RunEnd("cancelled")),
        ("TIMED_OUT", RunEnd("timed out")),
        ("TERMINATED", RunEnd("terminated", details="by ann")),
        ("SIGNALED", None),
    ],
)
def test_the_last_event_of_a_history_says_how_its_run_ended(event: str, end: RunEnd | None) -> None:
    attributes = WorkflowExecutionTerminatedEventAttributes(reason="by ann")
    last = HistoryEvent(
        event_type=EventType.Value(f"EVENT_TYPE_WORKFLOW_EXECUTION_{event}"),
        workflow_execution_terminated_event_attributes=attributes
        if event == "TERMINATED"
        else None,
    )
    closing = closed(WorkflowHistory("run", [last]))
    assert (None if closing is None else closing.end) == end
