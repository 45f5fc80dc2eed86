"""Laws of task graphs over random graphs: what planners may answer, in any order of ends."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from random import Random
from typing import NamedTuple

import pytest
from pydantic import JsonValue

from coterie.dsl.model.outcomes import Failure
from coterie.dsl.model.step_kinds.task_graph_step import TaskOrder
from coterie.dsl.task_graph.graph_tasks import MAX_TASKS, GraphTask, TaskNotes
from coterie.dsl.task_graph.task_because import task_because
from coterie.dsl.task_graph.task_causes import GraphTaskBlocked, GraphTaskEnded, GraphTaskStarted
from coterie.dsl.task_graph.task_reading import closing_edges, read_tasks
from coterie.dsl.task_graph.task_schedule import TaskSchedule

_GRAPHS = 1000


class _Walked(NamedTuple):
    schedule: TaskSchedule
    starts: list[str]
    ends: list[str]


def _tasks(items: list[JsonValue]) -> list[GraphTask]:
    return read_tasks(items, (), TaskNotes(), room=MAX_TASKS)


def _random_items(chance: Random, prefix: str = "t") -> list[JsonValue]:
    size = chance.randrange(1, 14)
    names = [f"{prefix}{chance.randrange(size + 2)}" for _ in range(size)]
    items: list[JsonValue] = []
    for name in names:
        before: list[JsonValue] = [*chance.choices(names, k=chance.randrange(4))]
        items.append({"id": name, "dependencies": before})
    return items


def _walk(chance: Random, items: list[JsonValue], order: TaskOrder, at_once: int) -> _Walked:
    """Run a graph: random tasks end, some of them fail, some add others."""
    schedule = TaskSchedule(_tasks(items), order)
    starts: list[str] = []
    ends: list[str] = []
    running: list[int] = []
    additions = count()
    while not schedule.is_over:
        if schedule.ready and len(running) < at_once:
            _start(chance, schedule, running, starts)
            continue
        index = running.pop(chance.randrange(len(running)))
        task = schedule.tasks[index]
        ends.append(task.id)
        failed = chance.random() < 0.2
        status = "failed" if failed else "skipped" if chance.random() < 0.1 else "completed"
        blocked = schedule.end(index, status, GraphTaskEnded("task_completed", task.id))
        assert bool(blocked) <= failed
        if chance.random() < 0.15 and len(schedule.tasks) < 60:
            more = _random_items(chance, f"n{next(additions)}_")
            known = schedule.index
            schedule.add(read_tasks(more, known, TaskNotes(), room=60))
        if chance.random() < 0.1:  # the run continues as new
            schedule = TaskSchedule([replace(one) for one in schedule.tasks], order)
            assert schedule.in_progress() == sorted(running)
    return _Walked(schedule, starts, ends)


def _start(chance: Random, schedule: TaskSchedule, running: list[int], starts: list[str]) -> None:
    available = schedule.available()
    assert schedule.first() == available[0]
    index = chance.choice(available)
    task = schedule.tasks[index]
    for name in task.dependencies:
        assert schedule.tasks[schedule.index[name]].is_satisfied
    schedule.start(index, GraphTaskStarted("task_chosen", task.id))
    running.append(index)
    starts.append(task.id)


def _graphs() -> Iterator[tuple[Random, list[JsonValue], TaskOrder, int]]:
    for number in range(_GRAPHS):
        chance = Random(number)
        order: TaskOrder = "critical_path" if number % 2 else "written"
        yield chance, _random_items(chance), order, chance.choice((1, 2, 5))


def test_every_graph_ends_and_every_task_has_a_final_status() -> None:
    for chance, items, order, at_once in _graphs():
        walked = _walk(chance, items, order, at_once)
        assert all(task.has_ended for task in walked.schedule.tasks)
        assert len(walked.starts) == len(set(walked.starts)) == len(walked.ends)
        counts = walked.schedule.counts
        assert sum(counts.values()) == len(walked.schedule.tasks)
        assert counts["pending"] == counts["in_progress"] == 0


def test_what_depends_on_a_failure_is_blocked_and_nothing_else_is() -> None:
    for chance, items, order, at_once in _graphs():
        schedule = _walk(chance, items, order, at_once).schedule
        for task in schedule.tasks:
            before = [schedule.tasks[schedule.index[name]].status for name in task.dependencies]
            lost = any(status in ("failed", "blocked") for status in before)
            assert (task.status == "blocked") == lost
            if isinstance(task.cause, GraphTaskBlocked):
                assert schedule.tasks[schedule.index[task.cause.failed]].status == "failed"
                assert task.cause.dependency in task.dependencies


def test_equal_ends_give_an_equal_schedule() -> None:
    for number in range(_GRAPHS):
        items = _random_items(Random(number))
        first, second = (_walk(Random(number), items, "critical_path", 3) for _ in range(2))
        assert first.starts == second.starts
        assert first.schedule.tasks == second.schedule.tasks


def test_a_schedule_made_anew_goes_on_where_the_other_was() -> None:
    for chance, items, order, _ in _graphs():
        schedule = TaskSchedule(_tasks(items), order)
        while not schedule.is_over:
            again = TaskSchedule([replace(task) for task in schedule.tasks], order)
            assert again.available() == schedule.available()
            assert again.counts == schedule.counts
            index = schedule.first()
            schedule.start(index, GraphTaskStarted("task_next", schedule.tasks[index].id))
            schedule.end(
                index,
                "failed" if chance.random() < 0.2 else "completed",
                GraphTaskEnded("task_completed", schedule.tasks[index].id),
            )


def test_only_dependencies_that_are_part_of_a_cycle_are_dropped() -> None:
    for number in range(_GRAPHS):
        chance = Random(number)
        size = chance.randrange(1, 12)
        edges = [
            list(dict.fromkeys(chance.choices(range(size), k=chance.randrange(4))))
            for _ in range(size)
        ]
        closing = closing_edges(edges)
        assert all(_leads(edges, dependency, task) for task, dependency in closing)
        kept = [[d for d in inner if (n, d) not in closing] for n, inner in enumerate(edges)]
        assert closing_edges(kept) == []


def _leads(edges: list[list[int]], start: int, end: int) -> bool:
    seen, stack = {start}, [start]
    while stack:
        index = stack.pop()
        if index == end:
            return True
        fresh = [one for one in edges[index] if one not in seen]
        seen.update(fresh)
        stack += fresh
    return False


def test_the_longest_chain_comes_first_on_the_critical_path() -> None:
    items: list[JsonValue] = [
        {"id": "short"},
        {"id": "long"},
        {"id": "middle", "dependencies": ["long"]},
        {"id": "last", "dependencies": ["middle"]},
        {"id": "other"},
    ]
    schedule = TaskSchedule(_tasks(items), "critical_path")
    assert [schedule.tasks[one].id for one in schedule.available()] == ["long", "short", "other"]
    more: list[JsonValue] = [
        {"id": f"n{number}", "dependencies": [f"n{number - 1}"] if number else ["other"]}
        for number in range(5)
    ]
    schedule.add(read_tasks(more, schedule.index, TaskNotes(), room=10))
    assert [schedule.tasks[one].id for one in schedule.available()] == ["other", "long", "short"]
    assert TaskSchedule(schedule.tasks, "written").first() == 0


def test_a_chain_that_additions_make_the_longest_comes_first_on_the_critical_path() -> None:
    items: list[JsonValue] = [
        {"id": f"{name}{number}", "dependencies": [f"{name}{number - 1}"] if number else []}
        for name in "ab"
        for number in range(4)
    ]
    schedule = TaskSchedule(_tasks(items), "critical_path")
    assert schedule.tasks[schedule.first()].id == "a0"
    more: list[JsonValue] = [{"id": "c", "dependencies": ["b3"]}]
    schedule.add(read_tasks(more, schedule.index, TaskNotes(), room=10))
    assert schedule.tasks[schedule.first()].id == "b0"


def test_a_task_that_is_added_behind_a_failure_is_blocked_at_once() -> None:
    schedule = TaskSchedule(_tasks([{"id": "a"}]), "written")
    schedule.start(0, GraphTaskStarted("task_next", "a"))
    schedule.end(0, "failed", GraphTaskEnded("task_failed", "a"))
    more: list[JsonValue] = [
        {"id": "c", "dependencies": ["b"]},
        {"id": "b", "dependencies": ["a"]},
        {"id": "free"},
    ]
    blocked = schedule.add(read_tasks(more, schedule.index, TaskNotes(), room=10))
    assert [schedule.tasks[one].id for one in sorted(blocked)] == ["c", "b"]
    assert [schedule.tasks[one].status for one in sorted(blocked)] == ["blocked", "blocked"]
    cause = GraphTaskBlocked("task_blocked", "b", "a", "a")
    assert schedule.tasks[schedule.index["b"]].cause == cause
    assert schedule.available() == [3]


def test_a_stopped_graph_has_nothing_left() -> None:
    schedule = TaskSchedule(_tasks([{"id": "a"}, {"id": "b", "dependencies": ["a"]}]), "written")
    schedule.start(0, GraphTaskStarted("task_next", "a"))
    schedule.stop(None, "")
    assert schedule.is_over
    assert schedule.counts["skipped"] == 2


@pytest.mark.parametrize("order", ["written", "critical_path"])
def test_the_work_of_a_schedule_is_linear_in_its_tasks(order: TaskOrder) -> None:
    def work(size: int) -> int:
        items: list[JsonValue] = [
            {"id": n, "dependencies": [n - 7, n - 13] if n >= 13 else []} for n in range(size)
        ]
        calls = 0

        def counted(*_: object) -> None:
            nonlocal calls
            calls += 1

        sys.setprofile(counted)
        try:
            schedule = TaskSchedule(_tasks(items), order)
            while not schedule.is_over:
                index = schedule.first()
                schedule.start(index, GraphTaskStarted("task_next", "x"))
                schedule.end(index, "completed", GraphTaskEnded("task_completed", "x"))
        finally:
            sys.setprofile(None)
        assert schedule.counts["completed"] == size
        return calls

    assert work(1600) < 8.5 * work(200)


def test_every_cause_has_words_that_name_the_task() -> None:
    schedule = TaskSchedule(
        _tasks([{"id": "a"}, {"id": "b", "dependencies": ["a"]}, {"id": "c"}]), "written"
    )
    assert task_because(schedule.waits_for(1)) == "'b' waits for 'a'"
    assert task_because(schedule.waits_for(0)) == "'a' is available"
    started = GraphTaskStarted("task_next", "a", 2)
    assert task_because(started) == "'a' is the first of 2 available tasks"
    timeout = Failure("Timeout", "it took too long")
    unchosen = GraphTaskStarted("choice_failed", "a", 2, failure=timeout)
    assert task_because(unchosen) == (
        "'a' is the first available task; the choice failed: Timeout: it took too long"
    )
    nothing = GraphTaskStarted("choice_unavailable", "a", 2)
    assert task_because(nothing) == "'a' is the first available task; nothing was chosen"
    stopped = GraphTaskEnded("graph_stopped", "a", 0, timeout)
    assert task_because(stopped) == (
        "its choice stopped the graph before 'a' ended: Timeout: it took too long"
    )
    failed = GraphTaskEnded("task_failed", "a", 2, timeout)
    assert task_because(failed) == "'a' failed after 2 attempts: Timeout: it took too long"
    schedule.start(0, started)
    schedule.end(0, "failed", failed)
    cause = schedule.tasks[1].cause
    assert cause is not None
    assert task_because(cause) == "'b' depends on 'a', which failed"
