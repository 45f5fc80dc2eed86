"""Reading tasks: a list, usually a planner's answer, as tasks of a graph. Never fails on an item.

Ids become texts and unique, unknown dependencies and those that close a cycle are dropped, and
what has no room is refused; every change leaves a note. Linear in the tasks and dependencies.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from coterie.dsl.sizes import json_size
from coterie.dsl.task_graph.graph_tasks import MAX_TASKS_SIZE, GraphTask, TaskNote, TaskNotes
from coterie.dsl.values import Json

_NEW, _OPEN, _DONE = 0, 1, 2


class _Node(NamedTuple):
    number: int
    rest: Iterator[int]


def closing_edges(edges: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Return dependencies without which there is no cycle; each of them is part of one.

    The walk begins at the last task, so that of `a` and `b`, which depend on each other, `a` loses
    its dependency and runs first.

    Args:
        edges: `edges[i]` are the tasks that task i depends on.

    Returns:
        Pairs `(task, dependency)`.
    """
    marks = [_NEW] * len(edges)
    closing: list[tuple[int, int]] = []
    for start in reversed(range(len(edges))):
        if marks[start] != _NEW:
            continue
        marks[start] = _OPEN
        path = [_Node(start, reversed(edges[start]))]
        while path:
            node = path[-1]
            following = next(node.rest, None)
            if following is None:
                marks[node.number] = _DONE
                path.pop()
            elif marks[following] == _OPEN:
                closing.append((node.number, following))
            elif marks[following] == _NEW:
                marks[following] = _OPEN
                path.append(_Node(following, reversed(edges[following])))
    return closing


MAX_ID_LENGTH = 200
_MAX_SHOWN = 60


def read_tasks(
    items: Sequence[JsonValue],
    known: Collection[str],
    notes: TaskNotes,
    *,
    room: int,
    size_left: int = MAX_TASKS_SIZE,
) -> list[GraphTask]:
    """Return the tasks of a list in written order; `notes` gets what was changed.

    Args:
        items: The written tasks.
        known: Ids that the graph has already. Within the list, a dependency means a task of the
            list before one of the graph.
        notes: The notes of the graph.
        room: How many tasks the graph can still take.
        size_left: How many bytes of JSON they may have together.
    """
    values = [(number, item) for number, item in enumerate(items, 1) if isinstance(item, dict)]
    for number, item in enumerate(items, 1):
        if not isinstance(item, dict):
            notes.add(TaskNote("not_a_task", f"item {number}", _shown_text(item)))
    wanted_ids = [_wanted_id(item, len(known) + number, notes) for number, item in values]
    ids = _unique(wanted_ids, known, notes)
    own: dict[str, int] = {}
    for index, name in enumerate(wanted_ids):
        own.setdefault(name, index)
    edges: list[list[int]] = []
    outside: list[list[str]] = []
    for (_, item), id in zip(values, ids, strict=True):
        inner, outer = _dependencies(item, id, own, known, notes)
        edges.append(inner)
        outside.append(outer)
    edges = _without_cycles(edges, ids, notes)
    tasks: list[GraphTask] = []
    for (_, item), id, inner, outer in zip(values, ids, edges, outside, strict=True):
        names: list[JsonValue] = [*outer, *(ids[dependency] for dependency in inner)]
        tasks.append(GraphTask({**item, "id": id, "dependencies": names}))
    return _fitting(tasks, edges, notes, room, size_left)


def _without_cycles(
    edges: Sequence[list[int]], ids: Sequence[str], notes: TaskNotes
) -> list[list[int]]:
    """Return the dependencies of each task without those that close a cycle."""
    closing: defaultdict[int, set[int]] = defaultdict(set)
    for index, dependency in closing_edges(edges):
        closing[index].add(dependency)
        notes.add(TaskNote("cycle_broken", ids[index], ids[dependency]))
    return [
        [dependency for dependency in dependencies if dependency not in closing.get(index, ())]
        for index, dependencies in enumerate(edges)
    ]


def _wanted_id(item: Json, number: int, notes: TaskNotes) -> str:
    """Return the id that a task asks for, as text; `task_3` without one."""
    value = item.get("id")
    default = f"task_{number}"
    if value is None or value == "":
        notes.add(TaskNote("id_missing", default))
        return default
    text = _as_text(value)
    if not text:
        notes.add(TaskNote("id_unusable", default, _shown_text(value)))
        return default
    if len(text) > MAX_ID_LENGTH:
        text = text[:MAX_ID_LENGTH]
        notes.add(TaskNote("id_shortened", text))
    return text


def _as_text(value: JsonValue) -> str:
    match value:
        case str():
            return value.strip()[: MAX_ID_LENGTH + 1]
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case _:
            return ""


def _shown_text(value: JsonValue) -> str:
    return str(value)[:_MAX_SHOWN]


def _unique(wanted_ids: Sequence[str], graph_ids: Collection[str], notes: TaskNotes) -> list[str]:
    """Give the later ids of the same name a number: `a`, `a_2`, `a_3`."""
    own_ids, taken_ids = set(wanted_ids), set[str]()
    numbers: dict[str, int] = {}
    ids: list[str] = []
    for name in wanted_ids:
        id = name
        if name in taken_ids or name in graph_ids:
            number = numbers.get(name, 2)
            while (id := f"{name}_{number}") in own_ids or id in taken_ids or id in graph_ids:
                number += 1
            numbers[name] = number
            notes.add(TaskNote("duplicate_id", id, name))
        taken_ids.add(id)
        ids.append(id)
    return ids


def _dependencies(
    item: Json, id: str, own: Mapping[str, int], graph_ids: Collection[str], notes: TaskNotes
) -> tuple[list[int], list[str]]:
    """Return what a task depends on: indexes into its own list, and ids of the graph."""
    dependencies = item.get("dependencies")
    if dependencies is None:
        return [], []
    if not isinstance(dependencies, list):
        text = _as_text(dependencies)
        if not text:
            notes.add(TaskNote("dependencies_unusable", id, _shown_text(dependencies)))
            return [], []
        dependencies = [text]
    inner: dict[int, None] = {}
    outer: dict[str, None] = {}
    for dependency in dependencies:
        name = _as_text(dependency)[:MAX_ID_LENGTH]
        if name in own:
            inner[own[name]] = None
        elif name in graph_ids:
            outer[name] = None
        else:
            notes.add(TaskNote("unknown_dependency", id, name or _shown_text(dependency)))
    return list(inner), list(outer)


def _fitting(
    tasks: list[GraphTask],
    edges: Sequence[Sequence[int]],
    notes: TaskNotes,
    room: int,
    size_left: int,
) -> list[GraphTask]:
    """Return the tasks that fit into the graph and do not depend on a refused one."""
    dependents: list[list[int]] = [[] for _ in tasks]
    for index, inner in enumerate(edges):
        for dependency in inner:
            dependents[dependency].append(index)
    refused: dict[int, None] = {}
    for index, task in enumerate(tasks):
        size_left -= json_size(task.value)
        if index >= room:
            refused[index] = None
            notes.add(TaskNote("too_many_tasks", task.id))
        elif size_left < 0:
            refused[index] = None
            notes.add(TaskNote("tasks_too_large", task.id))
    if not refused:
        return tasks
    stack = list(refused)
    while stack:
        for index in dependents[stack.pop()]:
            if index not in refused:
                refused[index] = None
                notes.add(TaskNote("depends_on_refused", tasks[index].id))
                stack.append(index)
    return [task for index, task in enumerate(tasks) if index not in refused]
