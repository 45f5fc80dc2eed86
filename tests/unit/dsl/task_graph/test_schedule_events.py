"""What one event does to the schedule of a task graph: a start, an end, a stop, an addition."""

from pydantic import JsonValue

from coterie.dsl.model.outcomes import Failure
from coterie.dsl.model.step_kinds.task_graph_step import TaskOrder
from coterie.dsl.task_graph.graph_tasks import MAX_TASKS, TaskNotes
from coterie.dsl.task_graph.task_causes import (
    GraphTaskBlocked,
    GraphTaskEnded,
    GraphTaskStarted,
    GraphTaskWaits,
)
from coterie.dsl.task_graph.task_reading import read_tasks
from coterie.dsl.task_graph.task_schedule import TaskSchedule

STARTED = GraphTaskStarted("task_next", "x")
COMPLETED = GraphTaskEnded("task_completed", "x")
FAILED = GraphTaskEnded("task_failed", "x")


def items(**before: str) -> list[JsonValue]:
    """Tasks, each with the letters of those that it depends on."""
    return [{"id": name, "dependencies": [*letters]} for name, letters in before.items()]


def schedule(order: TaskOrder = "written", **before: str) -> TaskSchedule:
    """The schedule of such tasks."""
    return TaskSchedule(read_tasks(items(**before), (), TaskNotes(), room=MAX_TASKS), order)


def add(graph: TaskSchedule, **before: str) -> list[int]:
    """Add such tasks."""
    return graph.add(read_tasks(items(**before), graph.index, TaskNotes(), room=MAX_TASKS))


def test_a_task_may_start_once_when_what_it_depends_on_has_ended() -> None:
    graph = schedule(a="", b="a")
    assert [graph.is_ready(0), graph.is_ready(1), graph.ready] == [True, False, 1]
    graph.start(0, STARTED)
    assert [graph.is_ready(0), graph.is_ready(1), graph.ready] == [False, False, 0]
    assert graph.in_progress() == [0]
    assert graph.end(0, "completed", COMPLETED) == []
    assert [graph.is_ready(0), graph.is_ready(1), graph.ready] == [False, True, 1]


def test_a_failure_blocks_what_depends_on_it_at_any_depth() -> None:
    graph = schedule(a="", b="a", c="b", d="")
    graph.start(0, STARTED)
    assert graph.end(0, "failed", FAILED) == [1, 2]
    assert [task.cause for task in graph.tasks] == [
        FAILED,
        GraphTaskBlocked("task_blocked", "b", "a", "a"),
        GraphTaskBlocked("task_blocked", "c", "b", "a"),
        None,
    ]
    assert add(graph, e="dc") == [4]
    assert graph.tasks[4].cause == GraphTaskBlocked("task_blocked", "e", "c", "a")
    assert graph.available() == [3]


def test_what_templates_saw_of_a_task_is_forgotten_when_it_or_one_before_it_changes() -> None:
    graph = schedule(a="", b="a", c="")
    graph.shown |= {0: {}, 1: {}, 2: {}}
    graph.start(0, STARTED)
    assert list(graph.shown) == [2]
    graph.changed(2)
    graph.changed(2)
    assert graph.shown == {}


def test_a_stop_skips_what_has_not_ended_and_starts_nothing_more() -> None:
    graph = schedule(a="", b="", c="b", d="")
    graph.start(0, STARTED)
    graph.end(0, "completed", COMPLETED)
    graph.start(1, STARTED)
    graph.tasks[1].attempts = 2
    graph.stop(Failure("E", "no"), "x")
    assert [task.cause for task in graph.tasks] == [
        COMPLETED,
        GraphTaskEnded("graph_stopped", "b", 2, Failure("E", "no"), stopped_by="x"),
        GraphTaskEnded("graph_stopped", "c", 0, Failure("E", "no"), stopped_by="x"),
        GraphTaskEnded("graph_stopped", "d", 0, Failure("E", "no"), stopped_by="x"),
    ]
    assert (graph.is_over, graph.ready, graph.available()) == (True, 0, [])
    assert graph.counts == {
        "pending": 0,
        "in_progress": 0,
        "completed": 1,
        "failed": 0,
        "skipped": 3,
        "blocked": 0,
    }


def test_a_graph_is_not_over_while_a_task_is_in_progress_or_may_start() -> None:
    graph = schedule(a="")
    assert not graph.is_over
    graph.start(0, STARTED)
    assert not graph.is_over
    graph.end(0, "skipped", GraphTaskEnded("task_skipped", "a"))
    assert graph.is_over


def test_a_pending_task_names_three_of_those_that_it_waits_for() -> None:
    graph = schedule(a="", b="", c="", d="", e="abcd", f="abc")
    assert graph.waits_for(0) == GraphTaskWaits("task_ready", "a")
    assert graph.waits_for(4) == GraphTaskWaits("task_waits", "e", ("a", "b", "c"), 1)
    assert graph.waits_for(5) == GraphTaskWaits("task_waits", "f", ("a", "b", "c"), 0)
    graph.start(0, STARTED)
    graph.end(0, "completed", COMPLETED)
    assert graph.waits_for(4) == GraphTaskWaits("task_waits", "e", ("b", "c", "d"), 0)


def test_a_task_that_may_start_waits_for_more_iterations_where_none_is_left() -> None:
    graph = schedule(a="", b="a")
    assert graph.waits_for(0, used_up=True) == GraphTaskWaits("iterations_used_up", "a")
    assert graph.waits_for(1, used_up=True) == GraphTaskWaits("task_waits", "b", ("a",), 0)


def test_on_the_critical_path_a_longer_chain_counts_only_for_tasks_that_have_not_started() -> None:
    graph = schedule("critical_path", a="", b="a", c="", d="c", e="d")
    assert graph.available() == [2, 0]
    graph.start(2, STARTED)
    add(graph, f="b", g="f")
    assert graph.available() == [0]
    graph.end(2, "completed", COMPLETED)
    assert graph.available() == [0, 3]
    add(graph, h="e", i="h", j="i")
    assert graph.available() == [3, 0]
    assert graph.first() == 3


def test_as_long_chains_start_in_written_order() -> None:
    graph = schedule("critical_path", a="", b="", c="b", d="a")
    assert (graph.available(), graph.first()) == ([0, 1], 0)
    graph.start(0, STARTED)
    assert (graph.available(), graph.first()) == ([1], 1)


def test_additions_make_every_chain_before_them_longer_by_their_own_length() -> None:
    graph = schedule("critical_path", a="", b="a", c="b", d="", e="d")
    assert graph.available() == [0, 3]
    add(graph, f="e")
    assert graph.available() == [0, 3]  # both chains have three tasks
    add(graph, g="", h="", i="dh")
    assert graph.available() == [0, 3, 7, 6]
