"""What a task graph comes to: its tasks and counts, and which of them failed."""

import pytest
from pydantic import JsonValue

from coterie.dsl.model.outcomes import Failure
from coterie.dsl.task_graph.graph_data import GraphTotals, graph_outcome
from coterie.dsl.task_graph.graph_tasks import MAX_TASKS, TaskNotes
from coterie.dsl.task_graph.task_causes import GraphTaskEnded, GraphTaskStarted
from coterie.dsl.task_graph.task_reading import read_tasks
from coterie.dsl.task_graph.task_schedule import TaskSchedule


def ended(tasks: int, failing: int, blocked: int = 0) -> TaskSchedule:
    """A graph of independent tasks that has ended; the first ones failed."""
    items: list[JsonValue] = [{"id": f"t{n}"} for n in range(tasks)]
    late: list[JsonValue] = [{"id": f"b{n}", "dependencies": ["t0"]} for n in range(blocked)]
    read = read_tasks([*items, *late], (), TaskNotes(), room=MAX_TASKS)
    schedule = TaskSchedule(read, "written")
    for index in range(tasks):
        id = schedule.tasks[index].id
        schedule.start(index, GraphTaskStarted("task_next", id))
        if index < failing:
            cause = GraphTaskEnded("task_failed", id, 1, Failure("E", f"no {index}"))
            schedule.end(index, "failed", cause)
        else:
            schedule.end(index, "completed", GraphTaskEnded("task_completed", id, 1))
    return schedule


@pytest.mark.parametrize(
    ("tasks", "failing", "blocked", "begins", "ends"),
    [
        (3, 1, 0, "1 of 3 tasks failed: ", "no 0"),
        (1, 1, 2, "1 of 3 tasks failed: ", "; blocked: 2"),
        (6, 5, 0, "5 of 6 tasks failed: ", "no 4"),
        (7, 7, 0, "7 of 7 tasks failed: ", "; and 2 more"),
    ],
)
def test_a_graph_with_failed_tasks_fails_with_the_first_of_them(
    tasks: int, failing: int, blocked: int, begins: str, ends: str
) -> None:
    totals = GraphTotals(iterations=9, dropped=0)
    found = graph_outcome(ended(tasks, failing, blocked), TaskNotes(), totals, None)
    assert found.error is not None
    assert found.error.message.startswith(begins)
    assert found.error.message.endswith(ends)


def test_a_graph_without_a_failed_task_succeeds_with_its_counts() -> None:
    found = graph_outcome(ended(2, 0), TaskNotes(), GraphTotals(iterations=2, dropped=1), None)
    assert found.success
    assert isinstance(found.data, dict)
    assert (found.data["completed"], found.data["dropped"], found.data["notes"]) == (True, 1, [])


def test_a_graph_that_stopped_early_fails_with_its_own_reason() -> None:
    reason = Failure("LimitExceeded", "too many")
    found = graph_outcome(ended(2, 1), TaskNotes(), GraphTotals(iterations=2, dropped=0), reason)
    assert found.error == reason
    assert isinstance(found.data, dict)
    assert "dropped" not in found.data
    assert found.data["completed"] is False
